package human

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// FaultKind groups faults by what can be done about them.
type FaultKind int

// Kinds of faults.
const (
	FaultFile        FaultKind = iota // of a file, a directory, a disk or a program
	FaultValue                        // a number or JSON that is none
	FaultListen                       // an address cannot be listened on
	FaultRefused                      // nothing listens there
	FaultHost                         // the name has no address, or the network is down
	FaultTime                         // no answer in time
	FaultProxy                        // the proxy
	FaultCertificate                  // a certificate is not trusted
	FaultScheme                       // http where https is spoken, or the other way round
	FaultLost                         // the connection broke off
)

// Fault is an error of the system, the network or Go's libraries in words that a user understands.
type Fault struct {
	Kind FaultKind
	Text string // what is wrong
	Next string // what to do about it, "" where that depends on the program
}

// Explain finds the fault behind err. It reports false where there is none.
func Explain(err error) (Fault, bool) {
	if f, ok := explain(err); ok {
		return f, true
	}
	for _, cause := range causes(err) {
		if f, ok := Explain(cause); ok {
			return f, true
		}
	}
	return Fault{}, false
}

// Words is the text of err with every fault behind it in words.
func Words(err error) string {
	if f, ok := explain(err); ok {
		return f.Text
	}
	text := err.Error()
	for _, cause := range causes(err) {
		if raw, plain := cause.Error(), Words(cause); raw != "" && raw != plain {
			text = strings.Replace(text, raw, plain, 1)
		}
	}
	return text
}

// causes are the errors that err wraps.
func causes(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return []error{cause}
		}
	}
	return nil
}

// explain is the fault that err itself is.
func explain(err error) (Fault, bool) {
	switch e := err.(type) {
	case *fs.PathError:
		return pathFault(e.Path, e.Err)
	case *os.LinkError:
		return pathFault(cmp.Or(e.New, e.Old), e.Err)
	case *os.SyscallError:
		return pathFault("", e.Err)
	case *exec.Error:
		return Fault{FaultFile, fmt.Sprintf("there is no program %q on the PATH", e.Name), "install it, or add its directory to PATH"}, true
	case *strconv.NumError:
		if errors.Is(e, strconv.ErrRange) {
			return Fault{FaultValue, fmt.Sprintf("%q is too large a number", e.Num), ""}, true
		}
		return Fault{FaultValue, fmt.Sprintf("%q is not a number", e.Num), ""}, true
	case *json.SyntaxError:
		return Fault{FaultValue, fmt.Sprintf("not valid JSON at byte %d", e.Offset), ""}, true
	}
	return networkFault(err)
}

// pathFault is what the system says about a path.
func pathFault(path string, err error) (Fault, bool) {
	file := cmp.Or(path, "the file")
	say := func(next, format string, args ...any) (Fault, bool) {
		return Fault{FaultFile, fmt.Sprintf(format, args...), next}, true
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return say("check the spelling of the path", "%s does not exist", file)
	case errors.Is(err, fs.ErrExist):
		return say("another name, or remove it first", "%s exists already", file)
	case errors.Is(err, syscall.EROFS):
		return say("a directory on another file system", "%s is on a read-only file system", file)
	case errors.Is(err, fs.ErrPermission):
		return say(strings.TrimSpace("ls -ld "+path)+", then change its mode or owner, or run as its owner",
			"%s is not accessible to this user (permission denied)", file)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return say(strings.TrimSpace("df -h "+directory(path))+", then free space there", "the disk that holds %s is full", file)
	case errors.Is(err, syscall.ENOTDIR):
		return say("check the path: something on it is a file", "%s is not below a directory", file)
	case errors.Is(err, syscall.EISDIR):
		return say("the name of a file", "%s is a directory", file)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return say("ulimit -n with a higher number", "too many files are open")
	}
	return Fault{}, false
}

// directory is where path is, "" for none.
func directory(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Dir(path)
}

// networkFault is what the network and those at its other end say.
func networkFault(err error) (Fault, bool) {
	switch e := err.(type) {
	case *url.Error:
		f, ok := Explain(e.Err)
		if e.Err == io.EOF {
			f, ok = Fault{FaultLost, "the connection broke off", ""}, true
		}
		if ok {
			f.Text = strings.ToLower(e.Op) + " " + e.URL + ": " + f.Text
		}
		return f, ok
	case *net.OpError:
		return connectionFault(e)
	case *net.DNSError:
		return hostFault(e), true
	case *tls.CertificateVerificationError:
		return certificateFault(e.Err), true
	case tls.RecordHeaderError:
		return Fault{FaultScheme, "no TLS is spoken there", "http:// in place of https://"}, true
	case syscall.Errno:
		return errnoFault(e, "there")
	}
	if known, ok := errorFault(err); ok {
		return known, true
	}
	if t, ok := err.(net.Error); ok && t.Timeout() {
		return Fault{FaultTime, "no answer in time", ""}, true
	}
	return Fault{}, false
}

// errorFault is an error that is told by its value or, where Go's HTTP client has no value for it, by its text.
func errorFault(err error) (Fault, bool) {
	switch err {
	case context.DeadlineExceeded, os.ErrDeadlineExceeded:
		return Fault{FaultTime, "no answer in time", ""}, true
	case http.ErrSchemeMismatch:
		return Fault{FaultScheme, "no TLS is spoken there", "http:// in place of https://"}, true
	case bufio.ErrTooLong:
		return Fault{FaultLost, "the answer is larger than this program takes", ""}, true
	case io.ErrUnexpectedEOF:
		return Fault{FaultLost, "the connection broke off", ""}, true
	}
	switch text := err.Error(); {
	case strings.HasPrefix(text, "malformed HTTP response"), strings.HasPrefix(text, "net/http: HTTP/1.x transport connection broken"):
		return Fault{FaultScheme, "no HTTP is spoken there", "https:// in place of http://, or another port"}, true
	case text == http.StatusText(http.StatusProxyAuthRequired):
		return Fault{FaultProxy, "the proxy asks for a user and a password", "HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"}, true
	case refusal(text):
		return Fault{FaultProxy, "the proxy refuses the connection: " + text, otherProxy}, true
	}
	return Fault{}, false
}

// otherProxy is what to do about a proxy that cannot be used.
const otherProxy = "HTTPS_PROXY or HTTP_PROXY for another proxy, NO_PROXY for none"

// refusal reports whether text is that of a status: Go's client has no other error for a proxy that refuses CONNECT.
func refusal(text string) bool {
	for status := http.StatusMultipleChoices; status < 600 && text != ""; status++ {
		if http.StatusText(status) == text {
			return true
		}
	}
	return false
}

// connectionFault is why a connection was not made, or is no more.
func connectionFault(e *net.OpError) (Fault, bool) {
	at := "there"
	if e.Addr != nil {
		at = e.Addr.String()
	}
	if e.Op == "proxyconnect" {
		f, ok := Explain(e.Err)
		if !ok {
			f.Text = e.Err.Error()
		}
		return Fault{FaultProxy, "the proxy cannot be used: " + f.Text, otherProxy}, true
	}
	if e.Op == "listen" {
		return listenFault(at, e.Err)
	}
	if no, ok := e.Err.(*os.SyscallError); ok {
		if errno, ok := no.Err.(syscall.Errno); ok {
			if e.Op == "dial" && errno == syscall.ECONNRESET { // the listener closed while this connection waited for it
				errno = syscall.ECONNREFUSED
			}
			return errnoFault(errno, at)
		}
	}
	var address *net.AddrError
	if errors.As(e.Err, &address) {
		return Fault{FaultHost, fmt.Sprintf("%q is not an address: %s", address.Addr, address.Err), "host:port"}, true
	}
	if f, ok := Explain(e.Err); ok {
		return f, true
	}
	return Fault{FaultLost, at + ": " + e.Err.Error(), ""}, true
}

// listenFault is why the address at cannot be listened on.
func listenFault(at string, err error) (Fault, bool) {
	say := func(next, format string, args ...any) (Fault, bool) {
		return Fault{FaultListen, fmt.Sprintf(format, args...), next}, true
	}
	var address *net.AddrError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return say("another port, or stop what has it", "another process has %s", at)
	case errors.Is(err, syscall.EACCES):
		return say("a port from 1024 on, or CAP_NET_BIND_SERVICE", "this user may not listen on %s", at)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return say("an address of this machine, such as 127.0.0.1", "this machine does not have the address %s", at)
	case errors.As(err, &address):
		return say("host:port, with a port from 0 to 65535", "%q is not an address: %s", address.Addr, address.Err)
	}
	if f, ok := Explain(err); ok {
		f.Kind = FaultListen
		return f, true
	}
	return Fault{}, false
}

// errnoFault is what the system says about the connection to at, an address or "there".
func errnoFault(errno syscall.Errno, at string) (Fault, bool) {
	on, to := "on "+at, "to "+at
	if at == "there" {
		on, to = at, at
	}
	switch errno {
	case syscall.ECONNREFUSED:
		return Fault{FaultRefused, "nothing listens " + on + " (connection refused)", ""}, true
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return Fault{FaultLost, "the connection broke off", ""}, true
	case syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN:
		return Fault{FaultHost, "no network leads " + to, ""}, true
	case syscall.ETIMEDOUT:
		return Fault{FaultTime, "no answer in time", ""}, true
	}
	return Fault{}, false
}

// hostFault is why a name has no address.
func hostFault(e *net.DNSError) Fault {
	switch {
	case e.IsNotFound:
		return Fault{FaultHost, "there is no host " + e.Name, ""}
	case e.IsTimeout:
		return Fault{FaultHost, "the name server did not answer for " + e.Name + " in time", ""}
	}
	return Fault{FaultHost, "the name server has no answer for " + e.Name, ""}
}

func certificateFault(err error) Fault {
	var (
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	why := "this machine does not trust its issuer"
	switch {
	case errors.As(err, &host):
		why = "it is not for " + host.Host
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		why = "it has expired or is not valid yet; is the clock right?"
	case errors.As(err, &invalid):
		why = "it is not valid"
	}
	return Fault{FaultCertificate, "the certificate is not accepted: " + why, ""}
}
