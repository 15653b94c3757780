package podspec

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

func TestASourceWithoutAnythingIsRefused(t *testing.T) {
	t.Parallel()
	mayBeEmpty := []string{"EmptyDir", "DownwardAPI", "Projected"}
	each := func(of any, validate func(c *check.Errors)) {
		sources := reflect.ValueOf(of).Elem()
		for f, source := range sources.Fields() {
			source.Set(reflect.New(source.Type().Elem()))
			var c check.Errors
			validate(&c)
			assert.Equal(t, slices.Contains(mayBeEmpty, f.Name), len(c.List) == 0, f.Name)
			source.SetZero()
		}
	}
	volume, persistent := corev1.Volume{Name: "v"}, corev1.PersistentVolumeSource{}
	each(&volume.VolumeSource, func(c *check.Errors) { checks{c}.volume(&volume, "pod", field.NewPath("spec")) })
	each(&persistent, func(c *check.Errors) { PersistentSource(c, &persistent, field.NewPath("spec")) })
}
