-- What another client has written, for people: on one line, and without control characters (also those of U+0080 to U+009F), which could
-- forge a line or change the terminal. A file of its own, so that messages need not load how tables are made.

return function(text)
  if not utf8.len(text) then return (text:gsub("[^ -~]", "?")) end
  return (text:gsub("%c", "?"):gsub("\xc2[\x80-\x9f]", "?"))
end
