package policy_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// findPackageComment reports packages without a package comment.
func findPackageComment(m *module) []breach {
	var found []breach
	for _, p := range m.pkgs {
		if len(p.files) == 0 {
			continue
		}
		want, said := "Package "+p.files[0].ast.Name.Name+" ", false
		if p.main() {
			want = "" // a program's comment starts with its name, however that is spelled
		}
		for _, f := range p.files {
			said = said || f.ast.Doc != nil && strings.HasPrefix(f.ast.Doc.Text(), want)
		}
		if !said {
			found = append(found, breach{m.at(p.files[0].ast.Package), p.path + " has no package comment",
				"say what it owns, what it never does and where it stands in the flow"})
		}
	}
	return found
}

// findDocComment reports exported identifiers without a comment, and those whose own comment starts with another name.
func findDocComment(m *module) []breach {
	var found []breach
	report := func(at ast.Node, name string, own *ast.CommentGroup) {
		switch {
		case own == nil || own.Text() == "":
			found = append(found, breach{m.at(at.Pos()), "exported " + name + " has no comment",
				"say what it is, its units, and what zero, nil and errors mean"})
		case !startsWith(own.Text(), name):
			found = append(found, breach{m.at(own.Pos()), "comment of exported " + name + " starts with another name",
				"start it with " + name})
		}
	}
	m.eachFunc(func(_ *pkg, _ *file, fn *ast.FuncDecl) {
		if r := receiver(fn); fn.Name.IsExported() && (r == "" || ast.IsExported(r)) {
			report(fn.Name, fn.Name.Name, fn.Doc)
		}
	})
	m.eachFile(func(_ *pkg, f *file) {
		for _, d := range f.ast.Decls {
			if gen, ok := d.(*ast.GenDecl); ok {
				documented(gen, report)
			}
		}
	})
	return found
}

// startsWith reports whether text starts with name, after an article if there is one.
func startsWith(text, name string) bool {
	for _, article := range []string{"", "A ", "An ", "The "} {
		rest, ok := strings.CutPrefix(text, article+name)
		if ok && !regexp.MustCompile(`^\w`).MatchString(rest) {
			return true
		}
	}
	return false
}

// documented calls report for every exported name of gen that has no comment, and for every type. A constant or variable may
// have its comment before it, behind it or before its group.
func documented(gen *ast.GenDecl, report func(at ast.Node, name string, own *ast.CommentGroup)) {
	for _, s := range gen.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			own := s.Doc
			if own == nil && gen.Lparen == token.NoPos {
				own = gen.Doc
			}
			if s.Name.IsExported() {
				report(s.Name, s.Name.Name, own)
			}
		case *ast.ValueSpec:
			if gen.Doc != nil || s.Doc != nil || s.Comment != nil {
				continue
			}
			for _, name := range s.Names {
				if name.IsExported() {
					report(name, name.Name, nil)
				}
			}
		}
	}
}

// findStubs reports notes of work that is not done, and panics that stand for it.
func findStubs(m *module) []breach {
	note, stub := regexp.MustCompile(`\b(TODO|FIXME)\b`), regexp.MustCompile(`(?i)unimplemented|not implemented|todo`)
	var found []breach
	m.eachFile(func(_ *pkg, f *file) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if note.MatchString(c.Text) {
					found = append(found, breach{m.at(c.Pos()), "a note of work that is not done", "do it, or open an issue and say in the comment what is so"})
				}
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			fn, _ := call.Fun.(*ast.Ident)
			text, _ := call.Args[0].(*ast.BasicLit)
			if fn != nil && fn.Name == "panic" && text != nil && stub.MatchString(text.Value) {
				found = append(found, breach{m.at(call.Pos()), "a stub that panics", "write the function, or leave it out until it is needed"})
			}
			return true
		})
	})
	return found
}
