package policy_test

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// importRule forbids imports. Paths are those of the module's packages from its top, or import paths of others; each stands
// for its sub-packages too.
type importRule struct {
	name    string
	from    []string // whom the rule binds; empty binds every package
	except  []string // of those, who is free
	never   []string // what they do not import
	stdOnly bool     // instead of never: nothing outside the standard library
	with    []string // with stdOnly: what they import beside it
	reach   bool     // nor through other packages of the module
	why     string
	instead string
}

// rulePackages are the packages that decide: data, then admission.
func rulePackages() []string {
	return []string{
		"internal/state", "daemon/pack", "daemon/brief", "daemon/pipeline", "daemon/reader",
		"daemon/account", "daemon/billing", "daemon/x402", "daemon/gate",
	}
}

// importRules are the rules in the order in which they are tried: of several that an import breaches, the first is reported.
func importRules() []importRule {
	return slices.Concat(ruleImports(), directionImports(), ownerImports())
}

const (
	goEthereum = "github.com/ethereum/go-ethereum"
	sqlite     = "github.com/mattn/go-sqlite3"
	pgx        = "github.com/jackc/pgx"
	cobra      = "github.com/spf13/cobra"
	pflag      = "github.com/spf13/pflag"
	viper      = "github.com/spf13/viper"
	bubbletea  = "github.com/charmbracelet/bubbletea"
	bubbletea2 = "charm.land/bubbletea"
	r3labs     = "github.com/r3labs/sse"
	sumdb      = "golang.org/x/mod"
)

// ruleImports bind the rule packages.
func ruleImports() []importRule {
	return []importRule{{
		name: "rules know no database", from: rulePackages(), reach: true,
		never:   []string{"database/sql", sqlite, pgx, "daemon/store"},
		why:     "a rule has to run in a test without a database, and only daemon/store knows SQL",
		instead: "declare the small interface you need where you use it; daemon/store satisfies it, daemon wires it",
	}, {
		name: "rules know no HTTP", from: rulePackages(), except: []string{"daemon/brief"},
		never:   []string{"net/http"},
		why:     "the same rules serve HTTP, streams and MCP; only the LLM writers of daemon/brief are HTTP clients",
		instead: "take and return plain values and api.Error; daemon/web and daemon/mcp translate",
	}, {
		name: "rules know no command line", from: rulePackages(), reach: true,
		never:   []string{cobra, pflag, viper},
		why:     "flags and config files are read in cmd and arrive as fields of a Config",
		instead: "add a field to the package's Config",
	}, {
		name: "rules know no chain client", from: rulePackages(),
		never:   []string{goEthereum, "daemon/chain"},
		why:     "a rule has to run in a test without a chain",
		instead: "use the integers and calldata of internal/usdg, and an interface that daemon/chain satisfies",
	}, {
		name: "rules know no edge", from: rulePackages(), reach: true,
		never:   []string{"daemon/web", "daemon/mcp"},
		why:     "an edge calls the rules, never the other way round",
		instead: "move what both need to the rule package or to sdk/api",
	}}
}

// directionImports say which way the parts of the repository look.
func directionImports() []importRule {
	return []importRule{{
		name: "sdk/api is standard library only", from: []string{"sdk/api"}, stdOnly: true,
		why:     "the vocabulary is at the bottom: whatever it imported, every program that speaks to the service would carry",
		instead: "keep the code that needs the import in the package that uses it",
	}, {
		name: "jsonx and atomicfile are standard library only", from: []string{"internal/jsonx", "internal/atomicfile"}, stdOnly: true,
		why:     "sdk is built on them, and every program that speaks to the service carries what they import",
		instead: "keep the code that needs the import in the package that uses it",
	}, {
		name: "human is standard library only", from: []string{"internal/human"}, stdOnly: true,
		why:     "sdk cleans with it what servers say, so every program that speaks to the service carries what it imports",
		instead: "keep what needs columns in the terminal UI's kit",
	}, {
		name: "prose is pure", from: []string{"internal/prose"}, stdOnly: true,
		with:    []string{"internal/human"},
		why:     "daemon and ctx read a text by one code, so every program carries what it imports",
		instead: "take plain values from the caller, or keep the code in the package that uses it",
	}, {
		name: "state is pure", from: []string{"internal/state"}, stdOnly: true,
		with:    []string{"sdk/api", "sdk/diff", "internal/human", "internal/jsonx", "internal/prose", "golang.org/x/text"},
		why:     "daemon, ctx and the terminal UI read a state by one code, so every program carries what it imports",
		instead: "take plain values from the caller, or keep the code in the package that uses it",
	}, {
		name: "check is pure", from: []string{"internal/check"}, stdOnly: true,
		with:    []string{"sdk/api", "internal/human", "internal/prose", "internal/state"},
		why:     "a text is judged by one code wherever that is, and the same text by the same material has the same answer",
		instead: "take plain values from the caller, or keep the code in the package that uses it",
	}, {
		name: "alert knows no program", from: []string{"internal/alert"}, reach: true,
		never:   []string{"client", "cmd", "daemon", "tui", cobra},
		why:     "ctx watch and the daemon's alerts keep one promise by one code, so it can know neither of them",
		instead: "take a Rule and a Target, which the program makes",
	}, {
		name: "setting knows no program", from: []string{"internal/setting"}, reach: true,
		never:   []string{"client", "cmd", "daemon", "tui", cobra, pflag, viper},
		why:     "configurations and manifests are read by one code, so it can know neither of them",
		instead: "say it in a tag, or in a Form that the caller makes",
	}, {
		name: "sdk knows no daemon", from: []string{"sdk"}, reach: true,
		never:   []string{"daemon"},
		why:     "a program that imports the sdk must not carry the server",
		instead: "move what both need to sdk/api",
	}, {
		name: "sdk knows no chain", from: []string{"sdk"}, except: []string{"sdk/wallet"}, reach: true,
		never:   []string{goEthereum},
		why:     "a program that pays with keys alone must not carry chain code",
		instead: "go through the sdk's Payer interface; sdk/wallet implements it",
	}, {
		name: "tui knows no client and no daemon", from: []string{"tui"}, reach: true,
		never:   []string{"client", "daemon"},
		why:     "client starts the terminal UI, and the UI reaches the daemon over HTTP only",
		instead: "pass what the UI needs in its Config, and call sdk",
	}, {
		name: "client knows no daemon", from: []string{"client"}, reach: true,
		never:   []string{"daemon"},
		why:     "ctx works against any daemon of the API, so all it may know is the wire",
		instead: "call sdk; move vocabulary that both need to sdk/api",
	}, {
		name: "daemon knows no client", from: []string{"daemon"},
		never:   []string{"client", "tui", "cmd"},
		why:     "the server is below its clients and its programs",
		instead: "move what both need to sdk/api or internal",
	}, {
		name: "nothing imports cmd", except: []string{"cmd"},
		never:   []string{"cmd"},
		why:     "cmd holds the mains: flags to Config and nothing that could be shared; only a main has parts of its own",
		instead: "move what is shared to the package that it configures",
	}}
}

// ownerImports name the only importers of a library.
func ownerImports() []importRule {
	return []importRule{{
		name:    "only store speaks SQL",
		except:  []string{"daemon/store", "daemon/backup", "daemon/testbed"}, // copies and tests look below the schema
		never:   []string{"database/sql", sqlite, pgx},
		why:     "transactions stay whole and migrations findable where all SQL is in one package",
		instead: "add a business act to daemon/store and call it through an interface",
	}, {
		name: "only four packages know the chain", except: []string{"internal/usdg", "internal/devchain", "daemon/chain", "sdk/wallet"},
		never:   []string{goEthereum},
		why:     "the library is large and its types leak; addresses and hashes travel as text, amounts as integers",
		instead: "use internal/usdg, or take a function from the caller",
	}, {
		name: "only programs parse flags", except: []string{"client", "cmd", "internal/cli"},
		never:   []string{cobra, pflag, viper},
		why:     "a package configured by a Config can be tested and embedded without a command line",
		instead: "take a Config",
	}, {
		name: "only tui draws", except: []string{"tui"},
		never:   []string{bubbletea, bubbletea2},
		why:     "one package owns the terminal's screen",
		instead: "call tui with a Config",
	}, {
		name: "only sdk reads streams", except: []string{"sdk"},
		never:   []string{r3labs},
		why:     "reconnecting and deduplicating streams is the sdk's work, once",
		instead: "use the sdk's stream",
	}, {
		name: "only sdk and translog know logs", except: []string{"sdk", "daemon/translog"},
		never:   []string{sumdb},
		why:     "one package makes the transparency log and one verifies it; all others see leaves, checkpoints and proofs as text",
		instead: "use daemon/translog to make, and sdk to verify",
	}, {
		name: "daemontest is for tests", except: []string{"cmd", "daemon/daemontest", "daemon/testbed"},
		never:   []string{"daemon/daemontest", "daemon/testbed", "daemon/cluster/clustertest", "internal/chance", "internal/long", "internal/scripttest"},
		why:     "a test harness must not reach the shipped library",
		instead: "import it from _test files only (the demo of cmd may use it)",
	}}
}

// binds reports whether r is about the package at path.
func (r importRule) binds(path string) bool {
	return (len(r.from) == 0 || within(path, r.from)) && !within(path, r.except)
}

// forbids reports whether r forbids what it binds to import path.
func (r importRule) forbids(m *module, path string) bool {
	if r.stdOnly {
		first, _, _ := strings.Cut(path, "/")
		return (strings.Contains(first, ".") || m.pkg(path) != nil) && !within(path, r.with)
	}
	return within(path, r.never)
}

// within reports whether path is one of list or below it.
func within(path string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// findImports reports the imports that a rule forbids, each once.
func findImports(m *module) []breach {
	var found []breach
	m.eachFile(func(p *pkg, f *file) {
		for _, spec := range f.ast.Imports {
			for _, r := range importRules() {
				chain := r.breachedBy(m, p.path, m.imported(spec))
				if chain == nil {
					continue
				}
				what := strings.Join(append([]string{p.path}, chain...), " imports ")
				found = append(found, breach{m.at(spec.Pos()), what + " (" + r.name + ": " + r.why + ")", r.instead})
				break
			}
		}
	})
	return found
}

// breachedBy returns the chain of imports, starting with path, by which the package at from breaches r; nil if it does not.
func (r importRule) breachedBy(m *module, from, path string) []string {
	if !r.binds(from) {
		return nil
	}
	if r.forbids(m, path) {
		return []string{path}
	}
	if !r.reach {
		return nil
	}
	return r.chain(m, path, map[string]bool{})
}

// chain looks for a forbidden import below the package at path. It stops at packages that r binds: they report their own.
func (r importRule) chain(m *module, path string, seen map[string]bool) []string {
	p := m.pkg(path)
	if p == nil || seen[path] || r.binds(path) {
		return nil
	}
	seen[path] = true
	for _, next := range m.imports(p) {
		if r.forbids(m, next) {
			return []string{path, next}
		}
		if rest := r.chain(m, next, seen); rest != nil {
			return append([]string{path}, rest...)
		}
	}
	return nil
}

// imports are what the files of p import, each once, in order.
func (m *module) imports(p *pkg) []string {
	var list []string
	for _, f := range p.files {
		for _, spec := range f.ast.Imports {
			list = append(list, m.imported(spec))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// findServers reports parts of HTTP servers in the rule packages, one of which is an HTTP client.
func findServers(m *module) []breach {
	server := []string{
		"FileServer", "FileServerFS", "Flusher", "Handle", "HandleFunc", "Handler", "HandlerFunc", "Hijacker", "ListenAndServe",
		"ListenAndServeTLS", "NewResponseController", "NewServeMux", "ResponseWriter", "Serve", "ServeMux", "ServeTLS", "Server",
	}
	var found []breach
	m.eachFile(func(p *pkg, f *file) {
		if !within(p.path, rulePackages()) {
			return
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if path, name := f.selected(n); path == "net/http" && slices.Contains(server, name) {
				found = append(found, breach{m.at(n.Pos()), p.path + " uses http." + name +
					" (the rule packages hold no part of a server)", "move it to daemon/web or daemon/mcp"})
			}
			return true
		})
	})
	return found
}

const maxImportDepth = 10

// findImportDepth reports the packages below which more than maxImportDepth imports within the module follow one another: cmd
// to daemon to web to reader to feed to state to sdk/api are six. Of several packages on one chain only the lowest is reported.
func findImportDepth(m *module) []breach {
	deepest := map[string][]string{}
	var found []breach
	for _, p := range m.pkgs {
		chain := m.deepest(p.path, deepest)
		if depth := len(chain) - 1; depth == maxImportDepth+1 {
			found = append(found, breach{p.path, "import depth " + strconv.Itoa(depth) + ", at most " +
				strconv.Itoa(maxImportDepth) + ": " + strings.Join(chain, " → "),
				"hand the lower package's result in from above, or move what is shared further down"})
		}
	}
	return found
}

// deepest returns the longest chain of imports within m from path down, and keeps it in known.
func (m *module) deepest(path string, known map[string][]string) []string {
	if chain, ok := known[path]; ok {
		return chain
	}
	p := m.pkg(path)
	if p == nil {
		return nil
	}
	known[path] = []string{path} // a cycle, which does not compile, must not hang the test
	var longest []string
	for _, next := range m.imports(p) {
		if chain := m.deepest(next, known); len(chain) > len(longest) {
			longest = chain
		}
	}
	known[path] = append([]string{path}, longest...)
	return known[path]
}
