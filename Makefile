# zkrecipes: how it is built. `make help` lists the targets.
#
#   LUA = 5.4 | 5.3 | 5.1 | luajit     the interpreter to build for (5.1 also runs on LuaJIT)
#   SAN = asan | tsan | cov            an instrumented build, in a folder of its own
#   CI  = 1                            warnings are errors
#
# The ZooKeeper client is linked from its static archive, and a version script hides its functions. Otherwise, in a process that has also
# loaded the multi-threaded client, calls of one client would reach functions of the other.

LUA ?= 5.4
CC = gcc
PKG_CONFIG ?= pkg-config
SUDO = $(if $(filter 0,$(shell id -u)),,sudo)

lua_name = $(if $(filter luajit,$(LUA)),luajit,lua$(LUA))
INTERPRETER = $(lua_name)
variant = $(LUA)$(if $(SAN),-$(SAN))
BUILD = build/$(variant)
CORE = $(BUILD)/zkrecipes/core.so
GUARDIAN = $(BUILD)/zkrecipes/guardian.so
MINDER = $(BUILD)/zkrecipes/minder.so
TLS = $(BUILD)/zkrecipes/tls.so
KERBEROS = $(BUILD)/zkrecipes/kerberos.so
has_kerberos := $(shell $(PKG_CONFIG) --exists krb5-gssapi && echo yes)
has_openssl := $(shell $(PKG_CONFIG) --exists 'libssl >= 3' && echo yes)

# ---- Flags -----------------------------------------------------------------------------------------------

WARNINGS = -Wall -Wextra -Wshadow -Wswitch-enum -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith \
  $(if $(CI),-Werror)
SAN_FLAGS_ = -O2
SAN_FLAGS_asan = -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# Without the last flag, libtsan takes what lies before the first thread-local variable of a shared object for a header of glibc 2.19. This is
# wrong, and ends the process in one of some hundred threads ("failed to allocate").
SAN_FLAGS_tsan = -O1 -fsanitize=thread -fno-omit-frame-pointer -ftls-model=initial-exec
SAN_FLAGS_cov = -O0 --coverage -fprofile-update=atomic
SAN_LIB_asan = libasan.so
SAN_LIB_tsan = libtsan.so
SAN_FLAGS = $(SAN_FLAGS_$(SAN))
# The interpreter is not instrumented, so the sanitizer's library is loaded before it.
SAN_RUNTIME = $(if $(SAN_LIB_$(SAN)),$(shell realpath "$$($(CC) -print-file-name=$(SAN_LIB_$(SAN)))"))
PRELOAD = $(if $(SAN_RUNTIME),env LD_PRELOAD=$(SAN_RUNTIME))

# In CI nobody looks at variables in a debugger. Functions and lines are enough for the sanitizers' reports, and compile faster.
CFLAGS = $(if $(CI),-g1,-g) $(SAN_FLAGS) $(WARNINGS)
override CFLAGS += -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -pthread
# Asked for once, but only when something is compiled: `make demo` installs pkg-config first.
lua_cflags = $(eval lua_cflags := $(shell $(PKG_CONFIG) --cflags $(lua_name) 2>/dev/null))$(lua_cflags)
CPPFLAGS += -Isrc $(lua_cflags)
LDFLAGS += -shared -pthread -fno-lto $(SAN_FLAGS) -Wl,-z,nodelete,-z,now,--version-script,$(EXPORTS) $(WRAP)
EXPORTS = src/lua/exports.map
ZOOKEEPER_LIB = -l:libzookeeper_st.a
# These options make the library connect and send through src/zk/secure.c, receive through src/zk/receive.c, decode through
# src/zk/decode.c, and free credentials through src/zk/wipe.c.
WRAP = -Wl,--wrap=connect,--wrap=send,--wrap=recv,--wrap=create_buffer_iarchive,--wrap=deallocate_Buffer,--wrap=free
LDLIBS = $(ZOOKEEPER_LIB) -lm -ldl

# ---- Building --------------------------------------------------------------------------------------------

# There if what we build with was found: it is looked for once in a folder, not in each of the makes of CI.
FOUND = build/found-$(LUA)

# Only the binding knows Lua. All other files are compiled once for all interpreters.
SHARED = build/engine$(if $(SAN),-$(SAN))
SIM = build/sim$(if $(SAN),-$(SAN))
ON_HOST = $(wildcard src/core/*.c src/plain/*.c src/recipes/*.c src/recipes/*/*.c)
ENGINE = $(ON_HOST) $(wildcard src/zk/*.c src/sim/*.c src/sasl/*.c)
OBJECTS = $(ENGINE:src/%.c=$(SHARED)/%.o) $(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard src/lua/*.c))

all: $(CORE) $(GUARDIAN) $(MINDER) $(if $(has_openssl),$(TLS)) $(if $(has_kerberos),$(KERBEROS)) ## build the module for LUA=5.4, 5.3, 5.1 or luajit into build/

$(CORE): $(OBJECTS) $(EXPORTS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(OBJECTS) $(LDLIBS)

# Programs in the form of shared objects: see src/zk/spawn.c. They are not instrumented, because a sanitizer cannot be preloaded into them.
$(GUARDIAN): $(wildcard src/guardian/*)
$(MINDER): $(wildcard src/minder/*)
$(GUARDIAN) $(MINDER):
	@mkdir -p $(@D)
	$(CC) -g -O2 $(WARNINGS) -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -Isrc -shared -o $@ $(filter %.c,$^) -l:Scrt1.o

# OpenSSL is in a shared object of its own, which is loaded when a session asks for TLS. It knows no Lua.
TLS_OBJECTS = $(patsubst src/%.c,$(SHARED)/%.o,$(wildcard src/tls/*.c))

$(TLS): $(TLS_OBJECTS) src/tls/exports.map
	@mkdir -p $(@D)
	$(CC) -shared -pthread -fno-lto $(SAN_FLAGS) -Wl,-z,nodelete,-z,now,--version-script,src/tls/exports.map -o $@ $(TLS_OBJECTS) -lssl -lcrypto

# Kerberos likewise, for sessions with GSSAPI.
KERBEROS_OBJECTS = $(patsubst src/%.c,$(SHARED)/%.o,$(wildcard src/kerberos/*.c))

$(KERBEROS_OBJECTS): CPPFLAGS += $(shell $(PKG_CONFIG) --cflags krb5-gssapi)

$(KERBEROS): $(KERBEROS_OBJECTS) src/kerberos/exports.map
	@mkdir -p $(@D)
	$(CC) -shared -pthread -fno-lto $(SAN_FLAGS) -Wl,-z,nodelete,-z,now,--version-script,src/kerberos/exports.map -o $@ \
	  $(KERBEROS_OBJECTS) $(shell $(PKG_CONFIG) --libs krb5-gssapi)

compile = { [ -d $(@D) ] || mkdir -p $(@D); } && $(CC) $(CPPFLAGS) $(CFLAGS) $(FAT) -MMD -MP -c -o $@ $<

# With these flags an object also has what whole-program optimization needs: see $(SIM)/histories. Only that link uses it.
$(SHARED)/%.o $(SIM)/%.o: FAT = $(if $(SAN),,-flto -ffat-lto-objects)

$(SHARED)/%.o: src/%.c | $(FOUND)
	@$(compile)

$(BUILD)/obj/%.o: src/%.c | $(FOUND)
	@$(compile)

-include $(OBJECTS:.o=.d) $(TLS_OBJECTS:.o=.d) $(KERBEROS_OBJECTS:.o=.d)

symbols: $(CORE) $(TLS) $(KERBEROS) ## check that the module exports only its entry, and imports neither the client nor OpenSSL
	@! nm -D --defined-only $(CORE) | grep -v ' luaopen_zkrecipes_core$$'
	@! nm -D --undefined-only $(CORE) | grep -E ' (zoo_|zookeeper_|zr_|SSL_)'
	@! nm -D --defined-only $(TLS) | grep -v ' zr_tls_table$$'
	@! nm -D --defined-only $(KERBEROS) | grep -v ' zr_kerberos_table$$'

clean: ## remove the build folder
	rm -rf build

PREFIX = /usr/local
lua_version = $(if $(filter luajit,$(LUA)),5.1,$(LUA))
MODULES = $(PREFIX)/share/lua/$(lua_version)
LIBRARIES = $(PREFIX)/lib/lua/$(lua_version)

install: all ## copy the module for LUA below PREFIX=/usr/local (and DESTDIR)
	cd lua && find zkrecipes -name '*.lua' ! -path '*/meta/*' ! -path '*/cli/*' \
	  -exec install -D -m 644 {} '$(DESTDIR)$(MODULES)/{}' ';'
	install -D -m 644 -t '$(DESTDIR)$(LIBRARIES)/zkrecipes' $(BUILD)/zkrecipes/*.so

SHARE = $(DESTDIR)$(PREFIX)/share

install-zkr: man ## copy zkr, its man pages and completions; LUA=5.4 only
	cd lua && find zkrecipes/cli -name '*.lua' -exec install -D -m 644 {} '$(DESTDIR)$(MODULES)/{}' ';'
	install -D -m 755 -t '$(DESTDIR)$(PREFIX)/bin' bin/zkr
	install -D -m 644 -t '$(SHARE)/man/man1' build/man/*.1
	install -D -m 644 build/completions/zkr.bash '$(SHARE)/bash-completion/completions/zkr'
	install -D -m 644 build/completions/zkr.zsh '$(SHARE)/zsh/vendor-completions/_zkr'
	install -D -m 644 build/completions/zkr.fish '$(SHARE)/fish/vendor_completions.d/zkr.fish'

.PHONY: install install-zkr

# ---- Releases --------------------------------------------------------------------------------------------

DIST = build/dist

dist: deps dist-deps ## make the source archive, the rock and the Debian packages of the last commit in build/dist
	@dev/dist/make $(DIST)

dist-test: dist ## install them (the packages in a private folder), and use them from there
	@dev/dist/test $(DIST)

dist-root: dist ## install the packages in a clean root of Debian with apt, and use them there (as root, with a network)
	@dev/dist/root $(DIST)

stranger: dist-deps ## type the commands of README.md in a clean root of Debian (as root, with a network); SPECS=... for its make test
	@SPECS='$(if $(filter undefined file,$(origin SPECS)),,$(SPECS))' dev/dist/stranger

# ---- Specs -----------------------------------------------------------------------------------------------

SPECS ?= spec
# PART=2/3 runs the second of three parts of them: every third file, so that no file is left out, and neighbours, which take equally
# long, are in different parts.
PART ?=
in_part = find $(SPECS) -name '*_spec.lua' | sort | awk 'BEGIN { split("$(PART)", part, "/") } NR % part[2] == part[1] % part[2]'
# Set explicitly, because an interpreter that we built has other defaults than Debian's.
system_path = $(shell env -u LUA_PATH -u LUA_CPATH $(lua_name) -e 'io.write(package.$(1))')
ENVIRONMENT = LUA_PATH='lua/?.lua;lua/?/init.lua;./?.lua;$(call system_path,path)' \
  LUA_CPATH='$(BUILD)/?.so;$(call system_path,cpath)' ZR_LUA='$(strip $(PRELOAD) $(INTERPRETER))' NO_COLOR=1
BUSTED = "$$(command -v busted)" -o dev/busted-lines.lua $(BUSTED_FLAGS) $(if $(PART),$$($(in_part)),$(SPECS))

# Its exit handler closes the Lua state, which would unload it under the handler's feet.
$(BUILD)/spec_fork.so: spec/support/fork.c | $(FOUND)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -shared -Wl,-z,nodelete -o $@ $<

$(BUILD)/spec_memory.so: spec/support/memory.c | $(FOUND)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -O2 $(WARNINGS) -std=c11 -D_GNU_SOURCE -fPIC -shared -o $@ $<

$(BUILD)/spec_starve.so: spec/support/starve.c | $(FOUND)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -O2 $(WARNINGS) -std=c11 -D_GNU_SOURCE -fPIC -shared -o $@ $< -lcrypto

$(BUILD)/spec_hang.so: spec/support/hang.c | $(FOUND)
	@mkdir -p $(@D)
	$(CC) -O1 $(WARNINGS) -std=c11 -D_GNU_SOURCE -fPIC -shared -o $@ $< -ldl

$(BUILD)/spec_secrets.so: spec/support/secrets.c | $(FOUND)
	@mkdir -p $(@D)
	$(CC) -O2 $(WARNINGS) -std=c11 -D_GNU_SOURCE -fPIC -pthread -shared -o $@ $<

$(BUILD)/spec_shake.so: spec/support/shake.c | $(FOUND)
	@mkdir -p $(@D)
	$(CC) -O2 $(WARNINGS) -std=c11 -D_GNU_SOURCE -fPIC -shared -o $@ $< -ldl

$(BUILD)/spec_openssl.so: spec/support/foreign_openssl.c | $(FOUND)
	@mkdir -p $(@D)
	$(CC) -O1 $(WARNINGS) -std=c11 -fPIC -shared -o $@ $<

# The specs of nginx need the module for LuaJIT.
ifeq ($(SAN)$(filter luajit,$(LUA)),)
spec: for-nginx
for-nginx: | $(FOUND)
	@$(MAKE) --no-print-directory -s LUA=luajit
.PHONY: for-nginx
endif

DISCOVERY_CLASSES = $(subst $() ,:,$(patsubst %,/usr/share/java/%.jar,curator-x-discovery curator-framework curator-client zookeeper \
  zookeeper-jute guava jackson-core jackson-databind jackson-annotations slf4j-api slf4j-nop))

build/java/Discovery.class: spec/support/Discovery.java
	@mkdir -p $(@D)
	@javac -cp $(DISCOVERY_CLASSES) -d $(@D) $<
	@printf 'build/java:%s' '$(DISCOVERY_CLASSES)' >$(@D)/classpath

spec-parts: $(CORE) $(GUARDIAN) $(MINDER) $(TLS) $(KERBEROS) $(foreach part,fork memory secrets starve hang openssl,$(BUILD)/spec_$(part).so) \
  build/java/Discovery.class

spec: spec-parts ## run the specs, or SPECS=..., or PART=1/3 of them, with LUA and SAN as built
	@$(ENVIRONMENT) $(SAN_ENV_$(SAN)) $(PRELOAD) $(INTERPRETER) $(BUSTED)

# Milliseconds: see spec/support/shake.c. BUSTED_FLAGS=--shuffle also changes the order of files and tests.
SHAKE = 30
SHAKE_START = 50

shake: spec-parts $(BUILD)/spec_shake.so ## the specs, or SPECS=..., with every message of a session delayed at random: what fails is a race in a spec
	@$(ENVIRONMENT) SHAKE=$(SHAKE) SHAKE_START=$(SHAKE_START) LD_PRELOAD=$(CURDIR)/$(BUILD)/spec_shake.so $(INTERPRETER) $(BUSTED)

test: deps ## install what is needed, build, run every spec against real servers
	@$(MAKE) --no-print-directory spec

# The I/O thread and its few blocks live as long as the process. So the specs themselves and valgrind find leaks, not the sanitizer.
# A server may make the library allocate more memory than there is.
SAN_ENV_asan = ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
SAN_ENV_tsan = TSAN_OPTIONS=die_after_fork=0:halt_on_error=1:allocator_may_return_null=1
# The specs that have one of these lines in their opening comment. If all sessions of a spec are simulated, it has one thread, so there is
# no race to find in it.
tagged = $(shell grep -rlxE --include='*_spec.lua' -e '-- Tags: sanitize$(1)' spec)
SANITIZED = $(sort $(call tagged,(, one thread)?))
THREADED = $(sort $(call tagged))

asan: ## the specs under the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory spec SAN=asan SPECS="$(SANITIZED)"

tsan: ## the specs with several threads under the thread sanitizer
	@$(MAKE) --no-print-directory spec SAN=tsan SPECS="$(THREADED)"

asan-nginx: ## the specs of nginx, with the module in it under the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory LUA=luajit SAN=asan
	@ZR_NGINX_ASAN=$$(realpath "$$($(CC) -print-file-name=libasan.so)") \
	  $(MAKE) --no-print-directory spec SPECS="$(wildcard spec/adapters/openresty*_spec.lua spec/adapters/status*_spec.lua)"

VALGRIND = valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=99 \
  --suppressions=dev/valgrind.supp --trace-children=no
SLOW = spec/unit/args_spec.lua spec/recipes/lock/lock_spec.lua spec/recipes/session/session_spec.lua

valgrind: $(CORE) $(BUILD)/spec_fork.so ## some of the specs under memcheck
	@$(ENVIRONMENT) $(VALGRIND) $(INTERPRETER) "$$(command -v busted)" -o dev/busted-lines.lua $(SLOW)

# A Lua whose C API checks its callers. Debian's Lua accepts some wrong calls.
apicheck: $(CORE) $(BUILD)/spec_fork.so ## the specs on a Lua 5.4 built with LUA_USE_APICHECK
	@dev/build-lua-apicheck build/apicheck
	@$(MAKE) --no-print-directory spec INTERPRETER=build/apicheck/lua SPECS="$(SANITIZED)"

asan-apicheck: ## asan and apicheck at once, as in CI
	@dev/build-lua-apicheck build/apicheck
	@$(MAKE) --no-print-directory asan INTERPRETER=build/apicheck/lua

# ---- The simulated ZooKeeper -------------------------------------------------------------------------------

SIM_FLAGS = $(CPPFLAGS) $(CFLAGS)
SEED ?= 1
STEPS ?= 4000

$(SIM)/spec/%.o: spec/%.c
	@$(compile)

-include $(wildcard $(SIM)/spec/*/*.d $(SIM)/spec/*/*/*.d)

# These programs share the objects of the module.
in_sim = $(patsubst src/%.c,$(SHARED)/%.o,$(filter src/%,$(1))) $(patsubst spec/%.c,$(SIM)/spec/%.o,$(filter spec/%,$(1)))
ENGINE_OBJECTS = $(call in_sim,$(ON_HOST) $(wildcard src/sim/*.c))
HISTORIES_OBJECTS = $(call in_sim,$(wildcard spec/histories/engine/*.c)) $(ENGINE_OBJECTS)
LEASE_OBJECTS = $(call in_sim,$(wildcard spec/histories/lease/*.c)) $(ENGINE_OBJECTS)
TEST_OBJECTS = $(call in_sim,spec/sim/check.c spec/sim/probe.c $(addprefix src/core/,alloc.c digest.c handshake.c lease.c status.c) $(wildcard src/sim/*.c))
MODEL_OBJECTS = $(call in_sim,$(addprefix spec/sim/,intent.c probe.c relay.c) $(wildcard src/sim/*.c src/zk/*.c) \
  $(addprefix src/core/,alloc.c digest.c handshake.c lease.c names.c pid.c sasl_options.c status.c tls_options.c) $(wildcard src/sasl/*.c))

# The program that runs longest is linked with whole-program optimization, which makes it a quarter faster. Programs that run for a short
# time (here, and in spec/histories/planted/plant.lua) link the same objects without it, because it takes long.
SIM_LINK = -fno-lto

$(SIM)/histories: SIM_LINK = $(if $(SAN),,-flto=auto)
$(SIM)/histories: $(HISTORIES_OBJECTS)
$(SIM)/lease_histories: $(LEASE_OBJECTS)
$(SIM)/counter_test: $(SIM)/spec/sim/counter_test.o $(ENGINE_OBJECTS)
$(SIM)/world_test $(SIM)/fault_test: $(SIM)/%: $(SIM)/spec/sim/%.o $(TEST_OBJECTS)
$(SIM)/model_test: $(SIM)/spec/sim/model_test.o $(MODEL_OBJECTS)
$(SIM)/model_test: SIM_LIBS = $(WRAP) $(LDLIBS)

SIM_PROGRAMS = $(addprefix $(SIM)/,histories lease_histories counter_test world_test fault_test model_test)

$(SIM_PROGRAMS):
	$(CC) $(SIM_FLAGS) $(SIM_LINK) -o $@ $^ $(SIM_LIBS)

sim-programs: $(SIM_PROGRAMS)

ONE_SEED = $(filter command line,$(origin SEED))
CHOICE = $(if $(HARNESS),--harness '$(HARNESS)') $(if $(RECIPE),--recipe '$(RECIPE)')

histories: ## run histories of every recipe, or RECIPE=...: SEEDS=... from FROM=1 on, or only SEED=... with its trace
	@$(ENVIRONMENT) MAKE='$(MAKE)' $(INTERPRETER) spec/histories/main.lua $(SIM) $(CHOICE) $(if $(SEEDS),--seeds $(SEEDS)) \
	  $(if $(FROM),--from $(FROM)) $(if $(ONE_SEED),--seed $(SEED)) $(if $(SHAPE),--shape '$(SHAPE)') $(if $(PART),--part $(PART))

planted: $(CORE) ## plant each bug of spec/histories/planted, of RECIPE=..., or BUG='its name', and check that histories catch it
	@$(ENVIRONMENT) MAKE='$(MAKE)' $(INTERPRETER) spec/histories/planted/plant.lua $(CHOICE) $(if $(BUG),--bug '$(BUG)')

# These print the parts of a build for plant.lua: where the objects of src/ are; commands; objects. Gold links twice as fast as ld.
planted-programs: $(SIM)/histories $(SIM)/lease_histories
	@printf '%s\n' '$(SHARED)' '$(CC) $(SIM_FLAGS)' '$(CC) $(SIM_FLAGS) -fno-lto -fuse-ld=gold' '$(HISTORIES_OBJECTS)' '$(LEASE_OBJECTS)'

planted-module: $(CORE)
	@printf '%s\n' '$(SHARED)' '$(CC) $(CPPFLAGS) $(CFLAGS)' '$(CC) $(LDFLAGS) -fuse-ld=gold' '$(OBJECTS) $(LDLIBS)'

soak: $(CORE) ## each recipe, or RECIPE=..., for ROUNDS=2000 rounds in virtual time: nothing may grow
	@$(ENVIRONMENT) $(INTERPRETER) spec/soak/main.lua --rounds $(or $(ROUNDS),2000) $(if $(RECIPE),--recipe '$(RECIPE)')

scale-topic: ## a topic that keeps MESSAGES=100000 messages: what one costs, and how long all take on a real server
	@$(MAKE) --no-print-directory spec SPECS=spec/recipes/topic/scale_spec.lua MESSAGES=$(or $(MESSAGES),100000)

sim-test: $(SIM)/counter_test $(SIM)/world_test $(SIM)/fault_test $(SIM)/model_test $(CORE) ## the simulator: its own tests, and its model against a real server
	@$(SIM)/counter_test
	@$(SIM)/world_test
	@$(SIM)/fault_test
	@$(ENVIRONMENT) dev/zk exec -- sh -c 'exec $(SIM)/model_test "$$ZK_HOSTS" $(SEED) $(STEPS)'

model: ## the rule of the lease in a model of leader and follower, checked exhaustively by Spin
	@CC='$(CC)' spec/model/run build/model

# ---- Fuzzing -----------------------------------------------------------------------------------------------

RUNS ?= 40000
FUZZ_ROUNDS = $(or $(ROUNDS),64)
FUZZ_CC = clang
FUZZ_LEVEL = -O1
FUZZ_FLAGS = -g $(FUZZ_LEVEL) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
  -std=c11 -D_GNU_SOURCE -Isrc -Wall -Wextra -Wshadow $(if $(CI),-Werror)
FUZZ_TARGETS = $(patsubst fuzz/%.c,%,$(wildcard fuzz/*.c))

# How many times RUNS inputs each target gets (default once); quick targets get more. An input of tls costs a handshake.
FUZZ_TIMES_tls = 1/10
FUZZ_TIMES_paths = 20
FUZZ_TIMES_sasl = 20
FUZZ_TIMES_hosts = 10
FUZZ_TIMES_values = 5

# A target includes the source file whose static functions it calls. These are the other files; each is compiled once for all targets.
FUZZ_SOURCES_paths = src/core/names.c src/core/alloc.c
FUZZ_SOURCES_hosts = src/core/names.c src/core/alloc.c src/zk/mailbox.c src/zk/clock.c src/zk/thread.c
FUZZ_SOURCES_listing = $(filter-out src/core/seats.c,$(ON_HOST))
FUZZ_SOURCES_values = $(filter-out src/lua/module.c,$(ON_HOST) $(wildcard src/sim/*.c src/lua/*.c))
FUZZ_SOURCES_sasl = $(wildcard src/sasl/*.c) $(addprefix src/core/,sasl_options.c alloc.c pid.c) \
  $(addprefix src/zk/,exchange.c login_tokens.c mailbox.c program.c secure_load.c thread.c)
FUZZ_SOURCES_server = $(wildcard src/zk/*.c) $(addprefix src/core/,alloc.c handshake.c lease.c names.c pid.c sasl_options.c tls_options.c) $(wildcard src/sasl/*.c)
FUZZ_SOURCES_tls = $(filter-out src/tls/module.c,$(wildcard src/tls/*.c))
FUZZ_LIBS_tls = -lssl -lcrypto
FUZZ_LIBS_server = $(WRAP) $(LDLIBS) -pthread
FUZZ_LIBS_values = $(shell $(PKG_CONFIG) --libs lua5.4) -lm
fuzz_objects = $(patsubst %.c,build/fuzz/obj/%.o,fuzz/$(1).c $(FUZZ_SOURCES_$(1)))

build/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) $(shell $(PKG_CONFIG) --cflags lua5.4) -MMD -MP -c -o $@ $<

# Targets only link most of these, so optimizing takes longer than it saves.
build/fuzz/obj/src/recipes/%.o build/fuzz/obj/src/plain/%.o build/fuzz/obj/src/sim/%.o: FUZZ_LEVEL = -O0

-include $(foreach target,$(FUZZ_TARGETS),$(patsubst %.o,%.d,$(call fuzz_objects,$(target))))

.SECONDEXPANSION:
$(FUZZ_TARGETS:%=build/fuzz/%): build/fuzz/%: $$(call fuzz_objects,$$*)
	$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ $^ $(FUZZ_LIBS_$*)

fuzz: $(FUZZ_TARGETS:%=build/fuzz/%) ## RUNS=... foreign inputs and ROUNDS=... of random API calls under sanitizers (SEED=... repeats calls, FROM=... repeats all)
	@$(MAKE) --no-print-directory all SAN=asan LUA=5.4
	@$(MAKE) --no-print-directory all SAN= LUA=luajit
	@dev/fuzz $(RUNS) $(FUZZ_ROUNDS) '$(if $(filter command line,$(origin SEED)),$(SEED))' '$(FROM)' $(foreach target,$(FUZZ_TARGETS),$(target):$(or $(FUZZ_TIMES_$(target)),1))

# The random caller alone, with LUA and SAN as built.
fuzz-api: $(CORE)
	@mkdir -p build/fuzz
	@$(ENVIRONMENT) $(SAN_ENV_$(SAN)) TRACE=build/fuzz/api-$(variant).trace SEED=$(if $(filter command line,$(origin SEED)),$(SEED)) FROM=$(FROM) \
	  dev/zk exec -- $(strip $(PRELOAD) $(INTERPRETER)) fuzz/api.lua $(FUZZ_ROUNDS)

# ---- Benchmarks --------------------------------------------------------------------------------------------

BENCH_CLASSES = $(subst $() ,:,$(patsubst %,/usr/share/java/%.jar,curator-recipes curator-framework curator-client zookeeper))

build/bench/floor: $(wildcard bench/floor/*)
	@mkdir -p $(@D)
	$(CC) -O2 -g -std=c11 $(WARNINGS) -pthread -o $@ $(filter %.c,$^) $(LDLIBS)

build/bench/Curator.class: bench/Curator.java
	@mkdir -p $(@D)
	javac -cp $(BENCH_CLASSES) -d $(@D) $<

# Each module is built by a separate make, because a make builds for one interpreter.
bench: bench-deps build/bench/floor build/bench/Curator.class ## beside a bare C program, Curator and kazoo: ROUNDS=5 MINUTES=10 ONLY=free,try MEMBERS=3 FSYNC=yes DOCS=1
	@$(MAKE) --no-print-directory all LUA=5.4
	@$(MAKE) --no-print-directory all LUA=luajit
	@ROUNDS='$(ROUNDS)' MINUTES='$(MINUTES)' ONLY='$(ONLY)' MEMBERS='$(MEMBERS)' FSYNC='$(FSYNC)' HOSTS='$(HOSTS)' DOCS='$(DOCS)' lua5.4 bench/main.lua

REQUESTS_CLASSES = $(DISCOVERY_CLASSES):/usr/share/java/curator-recipes.jar

build/bench/Requests.class: bench/requests/Requests.java
	@mkdir -p $(@D)
	javac -nowarn -Xlint:-deprecation -cp $(REQUESTS_CLASSES) -d $(@D) $<

bench-requests: bench-deps build/bench/Requests.class ## requests of the coordination recipes beside Curator's and kazoo's: ONLY=load,count DOCS=1
	@$(MAKE) --no-print-directory all LUA=5.4
	@ONLY='$(ONLY)' DOCS='$(DOCS)' lua5.4 bench/requests/main.lua

ENSEMBLE_ROWS = free,at_once,handoff_100,contend_2,queue_1k_put,queue_1k_claim_1

bench-ensemble: ## some rows of the benchmark on an ensemble of three, with and without a log that is forced to the disk
	@$(MAKE) --no-print-directory bench MEMBERS=3 ONLY=$(or $(ONLY),$(ENSEMBLE_ROWS))
	@$(MAKE) --no-print-directory bench MEMBERS=3 FSYNC=yes ONLY=$(or $(ONLY),$(ENSEMBLE_ROWS))

bench-tree: $(CORE) ## watched copies of 100,000 znodes: time, longest stall, memory; without and with files
	@$(ENVIRONMENT) dev/zk exec -- $(INTERPRETER) bench/tree.lua

bench-tls: $(CORE) $(TLS) ## what TLS costs beside plain text, on a server with a warm JIT: ROUNDS=8
	@$(ENVIRONMENT) ROUNDS=$(ROUNDS) $(INTERPRETER) bench/tls.lua

bench-scale: $(CORE) ## what N processes (N=100) cost the servers, counted in simulated worlds: ONLY=fair,election,semaphore,unfair,cohort,paths,max_queue,member,change
	@$(ENVIRONMENT) $(INTERPRETER) bench/scale.lua '$(or $(N),100)' '$(ONLY)'

bench-servers: $(CORE) ## what sessions, znodes, watches and heartbeats cost real servers: bytes, heap, CPU
	@$(ENVIRONMENT) $(INTERPRETER) bench/servers.lua

bench-quick: ## counts that do not depend on the machine (requests, bytes, instructions), against the stored ones
	@$(MAKE) --no-print-directory all LUA=5.4
	@STORE='$(STORE)' lua5.4 bench/quick.lua

latency: $(foreach lua,5.4 luajit 5.3 5.1,latency-$(lua)) ## of a get and of a wake-up, on every host and Lua

latency-%:
	@$(MAKE) --no-print-directory -s LUA=$*
	@$(MAKE) --no-print-directory -s LUA=$* latency-here

latency-here: $(CORE)
	@$(ENVIRONMENT) dev/zk exec -- $(INTERPRETER) dev/latency.lua

# ---- Checks ----------------------------------------------------------------------------------------------

C_FILES = $(wildcard src/*/*.[ch] src/*/*/*.[ch] spec/support/*.c spec/sim/*.[ch] spec/histories/*.[ch] spec/histories/*/*.[ch] fuzz/*.c fuzz/*.h bench/*/*.[ch])
LUA_MODULES = $(wildcard lua/zkrecipes/*.lua lua/zkrecipes/*/*.lua lua/zkrecipes/*/*/*.lua)
LUA_FILES = bin/zkr $(LUA_MODULES) $(wildcard spec/*/*.lua spec/*/*/*.lua examples/*.lua examples/cookbook/*.lua dev/*.lua dev/*/*.lua fuzz/*.lua fuzz/*/*.lua bench/*.lua bench/*/*.lua)

lint: ## borders, formatting, luacheck, syntax of every Lua, cppcheck, the rockspec
	@dev/check-borders
	@dev/check-layers
	@clang-format --dry-run -Werror $(C_FILES)
	@luacheck -q --no-color $(LUA_FILES)
	@for file in $(LUA_MODULES); do luac5.4 -p $$file || exit; done
	@for file in $(filter-out lua/zkrecipes/cli/%,$(LUA_MODULES)); do luac5.1 -p $$file || exit; done
	@cppcheck -q --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
	  --suppress=nullPointerRedundantCheck --std=c11 -Isrc src
	@luarocks lint zkrecipes-scm-1.rockspec
	@luarocks lint rockspecs/zkrecipes-tls-scm-1.rockspec
	@luarocks lint rockspecs/zkrecipes-kerberos-scm-1.rockspec
	@dev/check-rockspec

ZKR_COMMANDS = $(shell lua5.4 -e 'print(table.concat(dofile("lua/zkrecipes/cli/list.lua"), " "))')

man: ## the man pages of zkr into build/man, and its completions for shells into build/completions
	@$(MAKE) --no-print-directory -s LUA=5.4 all
	@mkdir -p build/man build/completions
	@bin/zkr man >build/man/zkr.1
	@for each in $(ZKR_COMMANDS); do bin/zkr man $$each >build/man/zkr-$$each.1 || exit; done
	@mandoc -T lint -W warning build/man/*.1
	@for each in bash zsh fish; do bin/zkr completion $$each >build/completions/zkr.$$each || exit; done

rock: ## run the commands of README.md and docs/install.md; luarocks make into an empty tree; require the module from another folder
	@dev/check-rock $(CURDIR)

demo: deps all ## see it work: a shared lock, a killed holder, on a server of its own or on HOSTS=...
	@$(ENVIRONMENT) HOSTS='$(HOSTS)' $(INTERPRETER) dev/demo/main.lua

SECONDS ?= 600
WORKERS ?= 4
COROUTINES ?= 25

torture: deps all ## processes, locks and an ensemble under random faults, for SECONDS=600; SECURE=1: by TLS; SEED=... WORKERS=... COROUTINES=...
	@$(ENVIRONMENT) SECURE=$(SECURE) $(INTERPRETER) dev/torture/main.lua $(SECONDS) $(if $(filter file,$(origin SEED)),random,$(SEED)) $(WORKERS) $(COROUTINES)

T ?= 2

torture-lease: deps all ## two holders at once? T=2 in ticks of 0.5 s, ROUNDS=200 holders, TICK=told or untold, LEASE_PAUSE=1
	@$(ENVIRONMENT) $(INTERPRETER) dev/torture/lease.lua $(T) $(or $(ROUNDS),200) $(TICK)

demo-openresty: deps ## see it work inside nginx: a lock, a timer that only the leader runs, a reload, the status page
	@$(MAKE) --no-print-directory -s LUA=luajit
	@dev/zk exec -- lua5.4 dev/demo/openresty.lua

load-openresty: deps ## 10,000 requests that wait for locks in one worker, and the latency of plain requests meanwhile
	@$(MAKE) --no-print-directory -s LUA=luajit
	@$(ENVIRONMENT) dev/zk exec -- $(INTERPRETER) dev/openresty.lua load

soak-openresty: deps ## SECONDS=... of requests that take locks and disconnect or wait, with reloads; reports what has grown
	@$(MAKE) --no-print-directory -s LUA=luajit
	@$(ENVIRONMENT) dev/zk exec -- $(INTERPRETER) dev/openresty.lua soak $(SECONDS)

build/zookeeper.jsa: dev/share-classes
	@mkdir -p $(@D)
	@rm -f $@
	@dev/share-classes $(CURDIR)/$@

# One call installs all, because steps that run at the same time cannot both call apt.
ci: ## what CI runs
	@$(call install,$(DEPS) $(DIST_DEPS) $(SITE_DEPS))
	@dev/ci

# ---- What must be installed ------------------------------------------------------------------------------

DEPS = gcc libc6-dev make pkg-config libzookeeper-st-dev libssl-dev libkrb5-dev krb5-kdc krb5-admin-server krb5-user openssl curl lua5.4 liblua5.4-dev lua5.1 liblua5.1-0-dev liblua5.3-dev luajit2 \
  libluajit2-5.1-dev lua5.3 luarocks lua-busted lua-socket lua-luv lua-cqueues lua-copas \
  lua-argparse mandoc lua-cjson lua-term lua-coxpcall lua-posix default-jdk-headless libzookeeper-java libslf4j-java libcurator-discovery-java \
  nginx-light libnginx-mod-http-lua chromium wrk procps lua-check clang libclang-rt-14-dev clang-format cppcheck valgrind dpkg-dev spin zsh fish

# Asks apt only when something is missing.
install = dpkg-query -W -f '$${db:Status-Status}\n' $(1) 2>/dev/null | grep -cx installed | grep -qx $(words $(1)) || \
	  { $(SUDO) apt-get -qq update && \
	    DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get -qq install -y --no-install-recommends $(1) >/dev/null; }

deps: ## install Debian's packages that the build and the specs need
	@$(call install,$(DEPS))

BENCH_DEPS = libcurator-recipes-java python3-kazoo gnuplot-nox

bench-deps: deps ## install Debian's packages of the peers, the compilers and the plotter
	@$(call install,$(BENCH_DEPS))

site: site-deps ## a site of the pages in docs/, in build/site
	@mkdocs build -q --strict -f dev/site/mkdocs.yml
	@echo 'site: build/site/index.html'

.PHONY: dist dist-test dist-root stranger site dist-deps site-deps

DIST_DEPS = debhelper mmdebstrap
SITE_DEPS = mkdocs

dist-deps: ## install Debian's packages that make dist and make dist-root need
	@$(call install,$(DIST_DEPS))

site-deps: ## install Debian's packages that make site needs
	@$(call install,$(SITE_DEPS))

$(FOUND):
	@echo '#include <zookeeper/zookeeper.h>' | $(CC) $(CPPFLAGS) -E -x c - >/dev/null 2>&1 && \
	  $(CC) -shared -o /dev/null $(ZOOKEEPER_LIB) 2>/dev/null || \
	  { echo 'The single-threaded ZooKeeper client is missing: apt-get install libzookeeper-st-dev, or make deps' >&2; \
	    exit 1; }
	@$(PKG_CONFIG) --exists $(lua_name) || \
	  { echo 'The headers of $(lua_name) are missing: make deps, or look for lib$(lua_name)-dev' >&2; exit 1; }
	@mkdir -p $(@D) && touch $@

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

.PHONY: all man model symbols clean deps help spec shake test asan asan-apicheck asan-nginx tsan valgrind apicheck lint rock demo demo-openresty soak-openresty load-openresty torture torture-lease ci latency latency-here histories planted planted-programs planted-module soak scale-topic spec-parts sim-programs sim-test fuzz fuzz-api
