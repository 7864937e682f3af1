package policy_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// topLevel is what may lie at the top of the repository, beside dot-files.
func topLevel() []string {
	return []string{
		"cmd", "daemon", "client", "tui", "sdk", "internal", "completions",
		"go.mod", "go.sum", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md",
	}
}

// packages are the packages of the architecture, by part.
func packages() []string {
	return []string{
		"cmd/contextd", "cmd/contextd/config", "cmd/contextd/examine", "cmd/ctx", "client", "client/bridge", "client/config",
		"tui", "tui/session", "tui/termguard", "tui/view",
		"sdk", "sdk/api", "sdk/diff", "sdk/wallet",
		"internal/alert", "internal/atomicfile", "internal/beacon", "internal/build", "internal/chance", "internal/check", "internal/cli", "internal/devchain", "internal/doctor", "internal/handbook", "internal/human",
		"internal/jsonx", "internal/listing", "internal/long", "internal/outbound", "internal/policy", "internal/prose", "internal/scripttest", "internal/setting", "internal/skills", "internal/state", "internal/usdg",
		"daemon", "daemon/admin", "daemon/backup", "daemon/chain", "daemon/daemontest", "daemon/datadir", "daemon/mail",
		"daemon/cluster", "daemon/cluster/clustertest", "daemon/demo", "daemon/operate", "daemon/translog/witness",
		"daemon/mcp", "daemon/metrics", "daemon/oauth", "daemon/store", "daemon/store/history", "daemon/store/database", "daemon/testbed",
		"daemon/translog",
		"daemon/watch", "daemon/web",
		"daemon/account", "daemon/billing", "daemon/gate", "daemon/x402",
		"daemon/brief", "daemon/brief/ground", "daemon/brief/llm", "daemon/event", "daemon/evidence", "daemon/feed", "daemon/pack", "daemon/pack/manifest",
		"daemon/packtest", "daemon/pipeline",
		"daemon/reader", "daemon/source", "daemon/source/replay",
	}
}

// findLayout reports what lies at the top level without belonging there, and packages that the architecture does not name. The
// import rules go by those names, so that a package renamed in passing would slip out of them.
func findLayout(m *module) []breach {
	var found []breach
	for _, e := range m.top {
		built := !e.IsDir() && (e.Name() == "contextd" || e.Name() == "ctx" || slices.Contains([]string{".test", ".out", ".prof"}, path.Ext(e.Name())))
		if !slices.Contains(topLevel(), e.Name()) && !strings.HasPrefix(e.Name(), ".") && !built {
			found = append(found, breach{e.Name(), "the top level is fixed and does not hold this",
				"a directory of the layout; prose belongs in README.md, the handbook and package comments"})
		}
	}
	for _, p := range m.pkgs {
		if !slices.Contains(packages(), p.path) && !strings.HasPrefix(p.path, packagesNotRooms) {
			found = append(found, breach{p.path, "the architecture does not name this package",
				"put the code where the architecture has its place; a new package is named there first, and in this list with its import rules"})
		}
	}
	return found
}

// findNames reports packages named for nothing in particular.
func findNames(m *module) []breach {
	empty := []string{"util", "utils", "common", "helper", "helpers", "misc", "models", "types", "shared"}
	var found []breach
	for _, p := range m.pkgs {
		for _, name := range strings.Split(p.path, "/") {
			if slices.Contains(empty, name) {
				found = append(found, breach{p.path, "the name " + name + " says nothing of what belongs there",
					"name the package for the noun it is about, or put each function beside its only user"})
			}
		}
	}
	return found
}

const minExternalPercent = 70

// findExternalTests reports when too few packages are tested from outside. A package counts as tested from outside when more
// than half of its test files are.
func findExternalTests(m *module) []breach {
	var inside []string
	tested := 0
	for _, p := range m.pkgs {
		all, external := 0, 0
		for _, f := range p.tests {
			if f.hasTests() {
				all++
				if strings.HasSuffix(f.ast.Name.Name, "_test") {
					external++
				}
			}
		}
		if all == 0 {
			continue
		}
		tested++
		if external*2 <= all {
			inside = append(inside, p.path)
		}
	}
	if (tested-len(inside))*100 >= minExternalPercent*tested {
		return nil
	}
	return []breach{{strings.Join(inside, ", "),
		fmt.Sprintf("%d of %d packages are tested from inside; at least %d %% are tested from outside", len(inside), tested, minExternalPercent),
		"test what a caller sees, from package …_test"}}
}

// hasTests reports whether f declares a test, benchmark, fuzz test or example, and not just parts for other files.
func (f *file) hasTests() bool {
	return slices.ContainsFunc(f.ast.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Recv == nil && slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz", "Example"}, func(prefix string) bool {
			return strings.HasPrefix(fn.Name.Name, prefix)
		})
	})
}
