package policy_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"unicode/utf8"
)

// What a reader looks at, in physical lines where it is lines. No test fails on the first three: a ceiling on sizes was obeyed against sense.
const (
	longFile   = 700
	longFunc   = 80
	manyPaths  = 20
	maxColumns = 140
	tabColumns = 4
)

// size is something long: what names it for sizeReasons, and at says where it is.
type size struct{ what, at, size string }

// sizeReasons are the reasons of what is long: a file by its path, a function by its package and name.
func sizeReasons() map[string]string {
	return map[string]string{
		"daemon/cluster/clustertest.TestLease": "the life of one lease, step by step, on any database",
		"sdk/api.Param.read":                   "a case for each kind of parameter; apart they would repeat the refusals",
	}
}

// sizes are the files and functions that a reader looks at. A function literal counts to the function it stands in.
func sizes(m *module) []size {
	var found []size
	m.eachFile(func(_ *pkg, f *file) {
		if f.lines > longFile {
			found = append(found, size{f.path, f.path, fmt.Sprintf("%d lines", f.lines)})
		}
	})
	m.eachFunc(func(p *pkg, _ *file, fn *ast.FuncDecl) {
		what := p.path + "." + funcName(fn)
		if n := m.line(fn.End()) - m.line(fn.Type.Func) + 1; n > longFunc {
			found = append(found, size{what, m.at(fn.Type.Func), fmt.Sprintf("%s has %d lines", funcName(fn), n)})
		}
		if n := complexity(fn); n > manyPaths {
			found = append(found, size{what, m.at(fn.Type.Func), fmt.Sprintf("%s has %d paths", funcName(fn), n)})
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

// findLineLength reports the lines that are too wide. The text of a raw string is data, and is left out.
func findLineLength(m *module) []breach {
	var found []breach
	m.eachFile(func(_ *pkg, f *file) {
		raw := map[int]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, "`") {
				for l := m.line(lit.Pos()); l <= m.line(lit.End()); l++ {
					raw[l] = true
				}
			}
			return true
		})
		for i, width := range f.widths {
			if width > maxColumns && !raw[i+1] {
				found = append(found, breach{fmt.Sprintf("%s:%d", f.path, i+1), fmt.Sprintf("line of %d columns, at most %d", width, maxColumns),
					"break it; a packed assignment becomes several"})
			}
		}
	})
	return found
}

// columns is the width of a line, with tabs of tabColumns.
func columns(line string) int {
	return utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
}
