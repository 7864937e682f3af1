package policy_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

const (
	smallPackage     = 600 // lines below which a package with one importer has to justify itself
	packageOfItsOwn  = "package of its own"
	packagesNotRooms = "internal/build/"
)

// findOneImporter reports small packages that only one other package imports and that do not say why they are not files of it.
func findOneImporter(m *module) []breach {
	importers := map[string][]string{}
	for _, p := range m.pkgs {
		for _, path := range m.imports(p) {
			importers[path] = append(importers[path], p.path)
		}
	}
	var found []breach
	for _, p := range m.pkgs {
		if len(p.files) == 0 || len(importers[p.path]) != 1 {
			continue
		}
		lines, said := 0, false
		for _, f := range p.files {
			lines += f.lines
			said = said || f.ast.Doc != nil && strings.Contains(strings.Join(strings.Fields(f.ast.Doc.Text()), " "), packageOfItsOwn)
		}
		if lines < smallPackage && !said {
			found = append(found, breach{p.path, fmt.Sprintf("%d lines that only %s imports", lines, importers[p.path][0]),
				fmt.Sprintf("make it files of its importer, or say in its comment why it is a %q", packageOfItsOwn)})
		}
	}
	return found
}

// findOneInstance reports unexported generic types that are made for a single type argument.
func findOneInstance(m *module) []breach {
	var found []breach
	for _, p := range m.pkgs {
		used := p.instances()
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				gen, ok := d.(*ast.GenDecl)
				if !ok || gen.Tok != token.TYPE {
					continue
				}
				for _, s := range gen.Specs {
					t := s.(*ast.TypeSpec)
					if t.TypeParams != nil && !t.Name.IsExported() && len(used[t.Name.Name]) == 1 {
						found = append(found, breach{m.at(t.Pos()), t.Name.Name + " is generic for one type", "write it for that type"})
					}
				}
			}
		}
	}
	return found
}

// instances are the type arguments with which p uses each generic type, as they are written. Those of its own declaration and
// methods, which are names of type parameters, are left out.
func (p *pkg) instances() map[string]map[string]bool {
	used := map[string]map[string]bool{}
	for _, f := range slices.Concat(p.files, p.tests) {
		params := map[string]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				clear(params)
				addParams(params, n)
			case *ast.IndexExpr:
				arg, isParam := n.Index.(*ast.Ident)
				if x, ok := n.X.(*ast.Ident); ok && (!isParam || !params[arg.Name]) {
					if used[x.Name] == nil {
						used[x.Name] = map[string]bool{}
					}
					used[x.Name][fmt.Sprint(exprText(n.Index))] = true
				}
			}
			return true
		})
	}
	return used
}

// addParams adds the names of fn's type parameters, its receiver's among them.
func addParams(params map[string]bool, fn *ast.FuncDecl) {
	if fn.Type.TypeParams != nil {
		for _, field := range fn.Type.TypeParams.List {
			for _, name := range field.Names {
				params[name.Name] = true
			}
		}
	}
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return
	}
	ast.Inspect(fn.Recv.List[0].Type, func(n ast.Node) bool {
		if ix, ok := n.(*ast.IndexExpr); ok {
			if name, ok := ix.Index.(*ast.Ident); ok {
				params[name.Name] = true
			}
		}
		return true
	})
}

// exprText names a type argument well enough to tell two apart.
func exprText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return exprText(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return "*" + exprText(e.X)
	case *ast.ArrayType:
		return "[]" + exprText(e.Elt)
	}
	return fmt.Sprintf("%T", e)
}
