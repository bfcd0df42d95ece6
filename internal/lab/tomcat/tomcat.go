// Package tomcat runs a real Tomcat, embedded, with a servlet that sleeps. It needs a JDK and Tomcat's library, as Debian's libtomcat10-java has it.
package tomcat

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/loadline-dev/loadline/internal/lab/jvm"
)

//go:embed Sleeper.java
var sleeper []byte

// ErrNoTomcat is wrapped where Tomcat's library is not installed.
var ErrNoTomcat = errors.New("the library of Tomcat is not installed")

// DefaultLibrary is where Debian keeps it.
const DefaultLibrary = "/usr/share/java"

// Program is the sleeping servlet with Tomcat's library from a folder; empty: DefaultLibrary.
func Program(library string) (jvm.Program, error) {
	if library == "" {
		library = DefaultLibrary
	}
	jars, err := filepath.Glob(filepath.Join(library, "tomcat10-*.jar"))
	if err != nil {
		return jvm.Program{}, fmt.Errorf("library %q: %w", library, err)
	}
	var kept []string
	for _, jar := range jars {
		// Debian has a link without the version beside every jar; translations are not needed.
		if name := filepath.Base(jar); !strings.Contains(name, "-10.") && !strings.Contains(name, "i18n") {
			kept = append(kept, jar)
		}
	}
	if len(kept) == 0 {
		return jvm.Program{}, fmt.Errorf("%w: found no tomcat10-*.jar in %s: install Debian's libtomcat10-java, or name the folder", ErrNoTomcat, library)
	}
	return jvm.Program{Name: "Sleeper", Source: sleeper, ClassPath: strings.Join(kept, string(os.PathListSeparator))}, nil
}
