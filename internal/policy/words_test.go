package policy_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// maxMeanings is in how many packages a word of privateWords may be declared.
const maxMeanings = 2

// word is a word that stood for many things at once.
type word struct {
	instead string   // what is said in its place
	meant   []string // the packages in which it means what it means to everybody
}

// privateWords are the words that may name something in at most maxMeanings packages beside those in which they have their plain meaning.
func privateWords() map[string]word {
	return map[string]word{
		"turn":   {instead: "lock, lease, refresh, message or step"},
		"settle": {"finalize, apply, verify or rename; only payments are settled", []string{"cmd/contextd/config", "daemon", "internal/devchain"}},
		"told":   {instead: "body, row, answer or notified"},
		"tell":   {instead: "notify, write, mail or answer"},
		"look":   {instead: "poll, scan, read or view"},
		"life":   {instead: "session or run"},
		"keep": {"store, retain or save; a number of backups is kept",
			[]string{"cmd/contextd", "cmd/contextd/config", "daemon", "daemon/operate"}},
		"kept":  {instead: "stored, saved or cached"},
		"hear":  {instead: "listen or receive"},
		"away":  {instead: "unreachable, gone or left"},
		"board": {instead: "scheduler or jobs"},
		"say":   {instead: "write, name or report"},
		"said":  {instead: "written, named or reported"},
	}
}

// findWords reports a word of privateWords that names functions, methods, types, fields, variables or constants of too many packages.
func findWords(m *module) []breach {
	words := privateWords()
	declared := map[string]map[string]string{} // where, by word and package
	m.eachFile(func(p *pkg, f *file) {
		declare := func(name *ast.Ident) {
			word := strings.ToLower(name.Name)
			if words[word].instead == "" || slices.Contains(words[word].meant, p.path) {
				return
			}
			if declared[word] == nil {
				declared[word] = map[string]string{}
			}
			if declared[word][p.path] == "" {
				declared[word][p.path] = m.at(name.Pos())
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				declare(n.Name)
				return false // its variables and parameters are nobody else's
			case *ast.FuncType: // nor are those of an interface's methods
				return false
			case *ast.TypeSpec:
				declare(n.Name)
			case *ast.Field:
				for _, name := range n.Names {
					declare(name)
				}
			case *ast.ValueSpec:
				for _, name := range n.Names {
					declare(name)
				}
			}
			return true
		})
	})
	var found []breach
	for word, packages := range declared {
		if len(packages) <= maxMeanings {
			continue
		}
		for path, at := range packages {
			found = append(found, breach{at, fmt.Sprintf("%q is declared in %d packages, %s among them; at most %d", word, len(packages), path,
				maxMeanings), "the field's word: " + words[word].instead})
		}
	}
	slices.SortFunc(found, func(a, b breach) int { return strings.Compare(a.String(), b.String()) })
	return found
}
