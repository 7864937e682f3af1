package policy_test

import (
	"go/ast"
	"slices"
	"strings"
)

// findInit reports functions that run on import.
func findInit(m *module) []breach {
	var found []breach
	m.eachFunc(func(_ *pkg, _ *file, fn *ast.FuncDecl) {
		if fn.Recv == nil && fn.Name.Name == "init" {
			found = append(found, breach{m.at(fn.Pos()), "init() runs wherever the package is imported, in no order one can see",
				"do it in a constructor that the caller calls"})
		}
	})
	return found
}

// findPackageState reports package-level variables that could change while the program runs.
func findPackageState(m *module) []breach {
	var found []breach
	m.eachFile(func(p *pkg, f *file) {
		for _, d := range f.ast.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range gen.Specs {
				v, ok := s.(*ast.ValueSpec)
				if !ok || gen.Tok.String() != "var" || embedded(gen.Doc) || embedded(v.Doc) {
					continue
				}
				for i, name := range v.Names {
					if !f.constant(p, v, i) {
						found = append(found, breach{m.at(name.Pos()), "package-level variable " + name.Name +
							" (no package-level state: two daemons in one process, or two tests, would share it)",
							"a field of a Config or struct, a const, or a function that returns the literal"})
					}
				}
			}
		}
	})
	return found
}

// embedded reports whether doc holds a go:embed directive.
func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// constant reports whether the i-th name of v is a variable only because Go has no constants of its kind.
func (f *file) constant(p *pkg, v *ast.ValueSpec, i int) bool {
	name := v.Names[i].Name
	switch {
	case name == "_", p.path == "internal/chance": // a compile-time assertion; flags of a test program are of its whole process
		return true
	case len(v.Values) == 0: // set by the linker
		typ, _ := v.Type.(*ast.Ident)
		return p.path == "internal/build" && typ != nil && typ.Name == "string"
	case strings.HasPrefix(name, "Err"):
		return true
	}
	if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "error" {
		return true
	}
	if i >= len(v.Values) {
		return false
	}
	call, ok := v.Values[i].(*ast.CallExpr)
	if !ok {
		return false
	}
	if path, fn := f.selected(call.Fun); path == "sync" && fn == "OnceValue" && len(call.Args) == 1 { // it is made when it is first needed
		if call = returned(call.Args[0]); call == nil {
			return false
		}
	}
	path, fn := f.selected(call.Fun)
	return slices.Contains([]string{
		"errors.New", "fmt.Errorf", "regexp.MustCompile", "regexp.MustCompilePOSIX", "strings.NewReplacer",
		"github.com/contextd/contextd/internal/prose.Form", // which compiles one later
	}, path+"."+fn)
}

// returned is the call that a function literal returns, if it does nothing else, else nil.
func returned(e ast.Expr) *ast.CallExpr {
	fn, ok := e.(*ast.FuncLit)
	if !ok || len(fn.Body.List) != 1 {
		return nil
	}
	ret, ok := fn.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return nil
	}
	call, _ := ret.Results[0].(*ast.CallExpr)
	return call
}

// ambient are the functions that take something from the surroundings of the process, by what to do instead.
func ambient() map[string][]string {
	return map[string][]string{
		"take the time as an argument or call an injected Now func() time.Time": {
			"time.Now", "time.Since", "time.Until",
		},
		"take a ctx from the caller (context.WithoutCancel where work outlives the call)": {
			"context.Background", "context.TODO",
		},
		"log to the *slog.Logger of the Config": {
			"log/slog.Debug", "log/slog.DebugContext", "log/slog.Info", "log/slog.InfoContext", "log/slog.Warn", "log/slog.WarnContext",
			"log/slog.Error", "log/slog.ErrorContext", "log/slog.Log", "log/slog.LogAttrs", "log/slog.SetDefault",
			"log.Print", "log.Printf", "log.Println", "log.Fatal", "log.Fatalf", "log.Fatalln", "log.Panic", "log.Panicf", "log.Panicln",
		},
		"use the *http.Client of the Config": {
			"net/http.Get", "net/http.Head", "net/http.Post", "net/http.PostForm",
		},
	}
}

// findAmbient reports calls of ambient functions outside programs. Only calls: the value time.Now, as in cfg.Now = time.Now, is
// how a default is injected.
func findAmbient(m *module) []breach {
	instead := map[string]string{}
	for text, names := range ambient() {
		for _, name := range names {
			instead[name] = text
		}
	}
	var found []breach
	m.eachFile(func(p *pkg, f *file) {
		if p.main() {
			return
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			path, name := f.selected(call.Fun)
			if text := instead[path+"."+name]; text != "" {
				found = append(found, breach{m.at(call.Pos()), "call of " + path + "." + name +
					" (clock, context, logger and HTTP client are handed in, so that a test can hand in its own)", text})
			}
			return true
		})
	})
	return found
}
