package policy_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// module is the parsed source of a Go module.
type module struct {
	path string // as go.mod names it
	fset *token.FileSet
	pkgs []*pkg        // by path
	top  []fs.DirEntry // what lies at the top level
}

// pkg is one directory with Go files. Generated files are left out: no rule binds them.
type pkg struct {
	path  string // from the top of the module, "." for the top itself
	files []*file
	tests []*file
}

// file is one parsed Go file.
type file struct {
	path   string // from the top of the module
	ast    *ast.File
	lines  int
	widths []int // of each line, in columns
}

// breach is one place where the code is not as a rule wants it.
type breach struct {
	at      string // file:line, or a directory
	what    string
	instead string
}

func (b breach) String() string { return b.at + ": " + b.what + ". Instead: " + b.instead }

// load parses every Go file of the module whose top is fsys, as the go tool sees it: without testdata, without directories
// that start with a dot or an underscore, and without modules in it, such as internal/bench.
func load(fsys fs.FS) (*module, error) {
	gomod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("read go.mod: %w", err)
	}
	name := regexp.MustCompile(`(?m)^module\s+(\S+)`).FindSubmatch(gomod)
	if name == nil {
		return nil, fmt.Errorf("go.mod names no module")
	}
	m := &module{path: string(name[1]), fset: token.NewFileSet()}
	if m.top, err = fs.ReadDir(fsys, "."); err != nil {
		return nil, fmt.Errorf("list top level: %w", err)
	}
	pkgs := map[string]*pkg{}
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() && p != "." && hasModule(fsys, p):
			return fs.SkipDir
		case !d.IsDir() && path.Ext(p) == ".go":
			return m.add(fsys, p, pkgs)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load module: %w", err)
	}
	for _, p := range pkgs {
		m.pkgs = append(m.pkgs, p)
	}
	slices.SortFunc(m.pkgs, func(a, b *pkg) int { return cmp.Compare(a.path, b.path) })
	return m, nil
}

// hasModule reports whether the directory dir is the top of a module.
func hasModule(fsys fs.FS, dir string) bool {
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

// add parses the file at p into its package of pkgs.
func (m *module) add(fsys fs.FS, p string, pkgs map[string]*pkg) error {
	src, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	tree, err := parser.ParseFile(m.fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(tree) {
		return nil
	}
	dir := path.Dir(p)
	if pkgs[dir] == nil {
		pkgs[dir] = &pkg{path: dir}
	}
	f := &file{path: p, ast: tree, lines: bytes.Count(src, []byte("\n"))}
	for line := range strings.Lines(string(src)) {
		f.widths = append(f.widths, columns(strings.TrimSuffix(line, "\n")))
	}
	if strings.HasSuffix(p, "_test.go") {
		pkgs[dir].tests = append(pkgs[dir].tests, f)
	} else {
		pkgs[dir].files = append(pkgs[dir].files, f)
	}
	return nil
}

// at is the file:line of pos.
func (m *module) at(pos token.Pos) string {
	p := m.fset.Position(pos)
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

// line is the line number of pos.
func (m *module) line(pos token.Pos) int { return m.fset.Position(pos).Line }

// imported is what spec imports: a path from the top for a package of m, else the import path.
func (m *module) imported(spec *ast.ImportSpec) string {
	p := importPath(spec)
	if p == m.path {
		return "."
	}
	return strings.TrimPrefix(p, m.path+"/")
}

// pkg returns the package at path with hand-written non-test code, or nil.
func (m *module) pkg(path string) *pkg {
	i := slices.IndexFunc(m.pkgs, func(p *pkg) bool { return p.path == path && len(p.files) > 0 })
	if i < 0 {
		return nil
	}
	return m.pkgs[i]
}

// main reports whether p is a program.
func (p *pkg) main() bool { return len(p.files) > 0 && p.files[0].ast.Name.Name == "main" }

// importPath is the path that spec imports.
func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}

// selected returns the import path and the name of an expression such as time.Now, and "" where e is none. It goes by the
// file's imports alone, so a local variable named like an import would be taken for it.
func (f *file) selected(e ast.Node) (path, name string) {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", ""
	}
	for _, spec := range f.ast.Imports {
		if importName(spec) == x.Name {
			return importPath(spec), sel.Sel.Name
		}
	}
	return "", ""
}

// importName is the name of the import in its file: given, or the last element of the path that is not a major version.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	dir, base := path.Split(importPath(spec))
	if dir != "" && regexp.MustCompile(`^v\d+$`).MatchString(base) {
		return path.Base(dir)
	}
	return base
}

// eachFile calls visit for every hand-written non-test file.
func (m *module) eachFile(visit func(*pkg, *file)) {
	for _, p := range m.pkgs {
		for _, f := range p.files {
			visit(p, f)
		}
	}
}

// eachFunc calls visit for every function and method of such files.
func (m *module) eachFunc(visit func(*pkg, *file, *ast.FuncDecl)) {
	m.eachFile(func(p *pkg, f *file) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				visit(p, f, fn)
			}
		}
	})
}

// funcName is how a breach names fn.
func funcName(fn *ast.FuncDecl) string {
	if r := receiver(fn); r != "" {
		return r + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// receiver is the name of the type that fn is a method of, "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
