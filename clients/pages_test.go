package clients

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

func TestPagesTogetherAreTheListAtOneVersion(t *testing.T) {
	t.Parallel()
	clients := clientsetFor(t, inMemory(t).config())
	pods := clients.CoreV1().Pods(metav1.NamespaceDefault)
	for i := range 25 {
		createPod(t, clients, fmt.Sprintf("pod-%02d", i), map[string]string{"even": fmt.Sprint(i%2 == 0)})
	}
	made := 0
	for name, options := range map[string]metav1.ListOptions{
		"all pods": {}, "some pods": {LabelSelector: "even=true"},
	} {
		t.Run(name, func(t *testing.T) {
			whole, err := pods.List(t.Context(), options)
			require.NoError(t, err)
			versions, remaining := map[string]bool{}, []int64{}
			pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				page, err := pods.List(ctx, options)
				if err != nil {
					return nil, err
				}
				versions[page.ResourceVersion] = true
				if page.RemainingItemCount != nil {
					remaining = append(remaining, *page.RemainingItemCount)
				}
				// What changes between two pages does not change the later ones.
				made++
				if _, err := pods.Create(ctx, pod(fmt.Sprint("pod-30-", made), map[string]string{"even": "true"}), metav1.CreateOptions{}); err != nil {
					return nil, err
				}
				return page, pods.Delete(ctx, page.Items[0].Name, metav1.DeleteOptions{})
			})
			pages.PageSize = 4
			var items []corev1.Pod
			require.NoError(t, pages.EachListItem(t.Context(), options, func(item runtime.Object) error {
				items = append(items, *item.(*corev1.Pod))
				return nil
			}))
			assert.Equal(t, whole.Items, items)
			assert.Equal(t, map[string]bool{whole.ResourceVersion: true}, versions, "all pages are of one version")
			if options.LabelSelector == "" { // with one it is not told
				require.NotEmpty(t, remaining)
				assert.Equal(t, int64(len(whole.Items)-4), remaining[0])
			}
		})
	}
}
