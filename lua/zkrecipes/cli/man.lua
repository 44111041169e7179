-- Man pages, made from the same definitions as the help: the parsers of argparse, of which it reads the lists of elements, because
-- argparse has no other way to get at them.

local exit = require "zkrecipes.cli.exit"
local list = require "zkrecipes.cli.list"
local parsers = require "zkrecipes.cli.parsers"

local M = {}

local function escape(text)
  return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("^[.']", "\\&%0"):gsub("\n([.'])", "\n\\&%1"))
end

local function heading(lines, title)
  lines[#lines + 1] = ".SH " .. title
end

local function paragraph(lines, label, text)
  lines[#lines + 1] = ".TP\n.B " .. escape(label) .. "\n" .. escape(text)
end

-- Text that is shown line by line.
local function verbatim(lines, text)
  lines[#lines + 1] = ".nf\n" .. escape((text:gsub("%s+$", ""))) .. "\n.fi"
end

local function synopsis(lines, parser)
  heading(lines, "SYNOPSIS")
  lines[#lines + 1] = escape((parser:get_usage():gsub("^Usage: ", ""):gsub("%s+", " ")))
end

local function label_of(element)
  local parts = {}
  for _, line in ipairs(element:_get_label_lines()) do parts[#parts + 1] = line:match "^%s*(.*)$" end
  return table.concat(parts, " ")
end

local function elements(lines, title, all)
  if #all == 0 then return end
  heading(lines, title)
  for _, element in ipairs(all) do paragraph(lines, label_of(element), element._description or "") end
end

-- The commands of a command, for example of `zkr queue`.
local function parts(lines, parser)
  for _, part in ipairs(parser._commands) do
    heading(lines, ('"%s"'):format(escape(part:get_usage():gsub("^Usage: ", ""):gsub("%s+", " "):upper():match "^ZKR [%u%d-]+ [%u%d-]+")))
    lines[#lines + 1] = escape(part._description or "")
    for _, element in ipairs(part._arguments) do paragraph(lines, label_of(element), element._description or "") end
    for _, element in ipairs(part._options) do paragraph(lines, label_of(element), element._description or "") end
  end
end

local function page(name, summary)
  local version = require("zkrecipes")._VERSION
  local date = os.date("!%Y-%m-%d", tonumber(os.getenv "SOURCE_DATE_EPOCH"))
  return { ('.TH %s 1 "%s" "zkrecipes %s" "User Commands"'):format(escape(name:upper()), date, version), ".SH NAME",
    escape(name) .. " \\- " .. escape((summary:gsub("%.$", ""))) }
end

local function exit_statuses(lines)
  heading(lines, "EXIT STATUS")
  for _, entry in ipairs(exit.texts) do paragraph(lines, tostring(entry[1]), entry[2]) end
end

local function command_page(name, parser, command)
  local lines = page("zkr-" .. name, command.summary)
  synopsis(lines, parser)
  heading(lines, "DESCRIPTION")
  lines[#lines + 1] = escape(parser._description)
  elements(lines, "ARGUMENTS", parser._arguments)
  elements(lines, "OPTIONS", parser._options)
  parts(lines, parser)
  heading(lines, "EXAMPLES")
  verbatim(lines, command.examples)
  exit_statuses(lines)
  heading(lines, "SEE ALSO")
  lines[#lines + 1] = ".BR zkr (1)"
  return lines
end

local function root_page(root)
  local lines = page("zkr", root._description)
  synopsis(lines, root)
  heading(lines, "DESCRIPTION")
  lines[#lines + 1] = escape "Options of zkr stand in front of the command. Each command has its own page."
  elements(lines, "OPTIONS", root._options)
  heading(lines, "COMMANDS")
  for _, name in ipairs(list) do paragraph(lines, "zkr-" .. name .. "(1)", parsers.load(name).summary) end
  exit_statuses(lines)
  heading(lines, "ENVIRONMENT")
  for _, entry in ipairs(parsers.ENVIRONMENT) do paragraph(lines, entry[1], entry[2]) end
  heading(lines, "FILES")
  paragraph(lines, "~/.config/zkr", parsers.FILE)
  return lines
end

-- The page of zkr, or of a command; nil if there is no such command.
function M.page(name)
  local root = parsers.all()
  if not name then return table.concat(root_page(root), "\n") .. "\n" end
  for i, each in ipairs(list) do
    if each == name then return table.concat(command_page(name, root._commands[i], parsers.load(name)), "\n") .. "\n" end
  end
end

return M
