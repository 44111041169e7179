rockspec_format = "3.0"
package = "zkrecipes-kerberos"
version = "scm-1"
source = { url = "git+https://github.com/zkrecipes/zkrecipes.git" }

description = {
  summary = "SASL with Kerberos for zkrecipes",
  detailed = [[
    What zkrecipes needs for sessions with SASL by GSSAPI: a module in C over MIT Kerberos, which is installed beside it. On Debian and Ubuntu
    `apt-get install libkrb5-dev`.
  ]],
  license = "MIT",
  labels = { "zookeeper", "kerberos", "sasl" },
}

-- Of the same version: both know the layout of one table of functions.
dependencies = { "lua >= 5.1, < 5.5", "zkrecipes == scm-1" }

external_dependencies = { KRB5 = { header = "gssapi/gssapi_krb5.h" } }

build = {
  type = "builtin",
  modules = {
    ["zkrecipes.kerberos"] = {
      sources = {
        "src/kerberos/exchange.c",
        "src/kerberos/module.c",
      },
      defines = { "_GNU_SOURCE" },
      incdirs = { "src", "$(KRB5_INCDIR)" },
      -- What follows the comma reaches the linker, as in the rockspec of zkrecipes.
      libdirs = { "$(KRB5_LIBDIR)", "$(KRB5_LIBDIR),-z,nodelete,--version-script,src/kerberos/exports.map" },
      libraries = { "gssapi_krb5", "pthread" },
    },
  },
}
