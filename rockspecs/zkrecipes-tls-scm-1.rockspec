rockspec_format = "3.0"
package = "zkrecipes-tls"
version = "scm-1"
source = { url = "git+https://github.com/zkrecipes/zkrecipes.git" }

description = {
  summary = "TLS for zkrecipes",
  detailed = [[
    What zkrecipes needs for sessions with TLS: a module in C over OpenSSL 3, which is installed beside it. On Debian and Ubuntu
    `apt-get install libssl-dev`.
  ]],
  license = "MIT",
  labels = { "zookeeper", "tls" },
}

-- Of the same version: both know the layout of one table of functions.
dependencies = { "lua >= 5.1, < 5.5", "zkrecipes == scm-1" }

external_dependencies = { OPENSSL = { header = "openssl/ssl.h" } }

build = {
  type = "builtin",
  modules = {
    ["zkrecipes.tls"] = {
      sources = {
        "src/tls/connection.c",
        "src/tls/context.c",
        "src/tls/explain.c",
        "src/tls/module.c",
      },
      defines = { "_GNU_SOURCE" },
      incdirs = { "src", "$(OPENSSL_INCDIR)" },
      -- What follows the comma reaches the linker, as in the rockspec of zkrecipes.
      libdirs = { "$(OPENSSL_LIBDIR)", "$(OPENSSL_LIBDIR),-z,nodelete,--version-script,src/tls/exports.map" },
      libraries = { "ssl", "crypto", "pthread" },
    },
  },
}
