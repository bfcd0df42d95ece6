package tomcat_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/loadline-dev/loadline/internal/lab/tomcat"
)

func TestTheLibraryIsOneJarOfEach(t *testing.T) {
	folder := t.TempDir()
	for _, jar := range []string{"tomcat10-catalina.jar", "tomcat10-catalina-10.1.60.jar", "tomcat10-i18n-de.jar", "tomcat10-coyote.jar", "other.jar"} {
		if err := os.WriteFile(filepath.Join(folder, jar), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := tomcat.Program(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(folder, "tomcat10-catalina.jar") + string(os.PathListSeparator) + filepath.Join(folder, "tomcat10-coyote.jar")
	if p.ClassPath != want || p.Name != "Sleeper" || len(p.Source) == 0 {
		t.Errorf("class path %q, want %q", p.ClassPath, want)
	}
}

func TestAMachineWithoutTomcatIsToldWhatToInstall(t *testing.T) {
	if _, err := tomcat.Program(t.TempDir()); !errors.Is(err, tomcat.ErrNoTomcat) {
		t.Errorf("%v", err)
	}
}
