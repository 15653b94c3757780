package admission

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ConnectOptions makes an Object of the options of a Connect. Its metadata are empty, and not encoded. No plugin changes it.
type ConnectOptions struct {
	metav1.ObjectMeta
	runtime.Object
}

// DeepCopyObject implements runtime.Object.
func (o *ConnectOptions) DeepCopyObject() runtime.Object {
	return &ConnectOptions{Object: o.Object.DeepCopyObject()}
}

// MarshalJSON implements json.Marshaler.
func (o *ConnectOptions) MarshalJSON() ([]byte, error) { return json.Marshal(o.Object) }
