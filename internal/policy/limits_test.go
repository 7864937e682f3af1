package policy_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"unicode/utf8"
)

// The limits, in physical lines where they are lines.
const (
	maxFileLines    = 500
	maxFuncLines    = 80
	maxComplexity   = 15
	maxPackageLines = 8000
	maxColumns      = 140
	tabColumns      = 4
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
