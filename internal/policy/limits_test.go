package policy_test

import (
	"fmt"
	"go/ast"
	"go/token"
)

// The limits, in physical lines where they are lines.
const (
	maxFileLines        = 500
	maxFuncLines        = 80
	maxComplexity       = 15
	maxInterfaceMethods = 5
	maxPackageLines     = 1500
)

// findFileSize reports the files that are too long.
func findFileSize(m *module) []breach {
	var found []breach
	m.eachFile(func(_ *pkg, f *file) {
		if f.lines > maxFileLines {
			found = append(found, breach{fmt.Sprintf("%s:%d", f.path, maxFileLines+1),
				fmt.Sprintf("file of %d lines, at most %d", f.lines, maxFileLines), "split it by the nouns it defines"})
		}
	})
	return found
}

// findFuncSize reports the functions that are too long, from the word func to the closing brace.
func findFuncSize(m *module) []breach {
	var found []breach
	m.eachFunc(func(_ *pkg, _ *file, fn *ast.FuncDecl) {
		if n := m.line(fn.End()) - m.line(fn.Type.Func) + 1; n > maxFuncLines {
			found = append(found, breach{m.at(fn.Type.Func),
				fmt.Sprintf("%s has %d lines, at most %d", funcName(fn), n, maxFuncLines), "give its steps names of their own"})
		}
	})
	return found
}

// findComplexity reports the functions with too many paths. A function literal counts to the function it stands in.
func findComplexity(m *module) []breach {
	var found []breach
	m.eachFunc(func(_ *pkg, _ *file, fn *ast.FuncDecl) {
		if n := complexity(fn); n > maxComplexity {
			found = append(found, breach{m.at(fn.Type.Func),
				fmt.Sprintf("%s has cyclomatic complexity %d, at most %d", funcName(fn), n, maxComplexity),
				"one function for each decision, or a table"})
		}
	})
	return found
}

// complexity is 1 and the number of branches: if, for, each case and comm clause but default, && and ||.
func complexity(fn *ast.FuncDecl) int {
	n := 1
	ast.Inspect(fn, func(node ast.Node) bool {
		branch := false
		switch x := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			branch = true
		case *ast.CaseClause:
			branch = x.List != nil
		case *ast.CommClause:
			branch = x.Comm != nil
		case *ast.BinaryExpr:
			branch = x.Op == token.LAND || x.Op == token.LOR
		}
		if branch {
			n++
		}
		return true
	})
	return n
}

// findInterfaceSize reports the interfaces with too many methods, named or not.
func findInterfaceSize(m *module) []breach {
	var found []breach
	for _, p := range m.pkgs {
		declared := p.interfaces()
		for _, f := range p.files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				it, ok := n.(*ast.InterfaceType)
				if !ok {
					return true
				}
				if c := methods(it, declared, map[*ast.InterfaceType]bool{}); c > maxInterfaceMethods {
					found = append(found, breach{m.at(it.Pos()), fmt.Sprintf("interface of %d methods, at most %d", c, maxInterfaceMethods),
						"declare at each place of use the methods that are called there"})
				}
				return true
			})
		}
	}
	return found
}

// interfaces are the interface types that p declares, by name.
func (p *pkg) interfaces() map[string]*ast.InterfaceType {
	declared := map[string]*ast.InterfaceType{}
	for _, f := range p.files {
		for _, d := range f.ast.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range gen.Specs {
				if ts, ok := s.(*ast.TypeSpec); ok {
					if it, ok := ts.Type.(*ast.InterfaceType); ok {
						declared[ts.Name.Name] = it
					}
				}
			}
		}
	}
	return declared
}

// methods counts the methods of it. An embedded interface of the same package counts with all its methods, one of another
// package as one, and the union of a type constraint as none.
func methods(it *ast.InterfaceType, declared map[string]*ast.InterfaceType, seen map[*ast.InterfaceType]bool) int {
	if seen[it] {
		return 0
	}
	seen[it] = true
	n := 0
	for _, field := range it.Methods.List {
		switch t := field.Type.(type) {
		case *ast.FuncType:
			n += len(field.Names)
		case *ast.SelectorExpr:
			n++
		case *ast.Ident:
			if embedded := declared[t.Name]; embedded != nil {
				n += methods(embedded, declared, seen)
			}
		}
	}
	return n
}

// findPackageSize reports the packages with too many lines outside tests and generated files.
func findPackageSize(m *module) []breach {
	var found []breach
	for _, p := range m.pkgs {
		n := 0
		for _, f := range p.files {
			n += f.lines
		}
		if n > maxPackageLines {
			found = append(found, breach{p.path, fmt.Sprintf("package of %d lines, at most %d", n, maxPackageLines),
				"split it where its files know least of each other"})
		}
	}
	return found
}
