-- docs/errors.md describes every code, with its cause and what to do, and no other.

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

describe("docs/errors.md", function()
  local codes = { error = true }
  for code in read("src/core/status.def"):gmatch 'ZR_STATUS%([%u_]+,%s*"([%l_]+)"' do codes[code] = code ~= "ok" or nil end

  -- The sections: code > text.
  local sections, page = {}, read("docs/errors.md"):match "\n## The codes\n(.*)"
  for section in (page:gsub("\n### ", "\0") .. "\0"):gmatch "%z([^%z]+)%f[%z]" do
    sections[section:match "^[^\n]+"] = section
  end

  it("has a section for every code", function()
    for code in pairs(codes) do assert(sections[code], "docs/errors.md does not describe " .. code) end
  end)

  it("describes only codes that exist", function()
    for code in pairs(sections) do assert(codes[code], "docs/errors.md describes " .. code .. ", which is no code") end
  end)

  it("tells the cause of each, and what to do", function()
    for code, text in pairs(sections) do
      assert(text:find "%* %*%*Cause%*%*: %a", code .. ": no cause")
      assert(text:find "\n%* %*%*What to do%*%*: %S", code .. ": not what to do")
    end
  end)
end)
