package printers

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stretchr/testify/assert"
)

func TestVolumesRequestsAndDevicesHaveTheirColumns(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		printer Printer
		object  runtime.Object
		text    string
		want    map[string]any
	}{
		{Volumes, &corev1.PersistentVolume{}, `{"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteMany","ReadWriteOnce"],"storageClassName":"c","volumeMode":"Block","claimRef":{"namespace":"a","name":"b"}},"status":{"phase":"Bound"}}`,
			map[string]any{"Capacity": "1Gi", "Access Modes": "RWO,RWX", "Status": "Bound", "Claim": "a/b", "StorageClass": "c", "VolumeAttributesClass": "<unset>", "VolumeMode": "Block"}},
		{Volumes, &corev1.PersistentVolume{}, `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","annotations":{"volume.beta.kubernetes.io/storage-class":"old"}}}`, map[string]any{"Status": "Terminating", "StorageClass": "old", "Claim": "", "Capacity": "0"}},
		{Claims, &corev1.PersistentVolumeClaim{}, `{"spec":{"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Pending"}}`, map[string]any{"Status": "Pending", "Volume": "", "Capacity": "", "Access Modes": "", "VolumeMode": "<unset>"}},
		{Claims, &corev1.PersistentVolumeClaim{}, `{"spec":{"volumeName":"v"},"status":{"capacity":{"storage":"2Gi"},"accessModes":["ReadWriteOncePod"]}}`, map[string]any{"Volume": "v", "Capacity": "2Gi", "Access Modes": "RWOP"}},
		{StorageClasses, &storagev1.StorageClass{}, `{"metadata":{"name":"c","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}}`, map[string]any{"Name": "c (default)", "ReclaimPolicy": "Delete", "VolumeBindingMode": "Immediate", "AllowVolumeExpansion": false}},
		{Attachments, &storagev1.VolumeAttachment{}, `{"spec":{"source":{"persistentVolumeName":"v"}},"status":{"attached":true}}`, map[string]any{"PV": "v", "Attached": true}},
		{CSIDrivers, &storagev1.CSIDriver{}, `{}`, map[string]any{"AttachRequired": true, "PodInfoOnMount": false, "TokenRequests": "<unset>", "Modes": "<none>"}},
		{CSIDrivers, &storagev1.CSIDriver{}, `{"spec":{"tokenRequests":[{"audience":"a"},{"audience":"b"}],"volumeLifecycleModes":["Persistent","Ephemeral"]}}`, map[string]any{"TokenRequests": "a,b", "Modes": "Persistent,Ephemeral"}},
		{CSINodes, &storagev1.CSINode{}, `{"spec":{"drivers":[{"name":"a"}]}}`, map[string]any{"Drivers": int64(1)}},
		{CertificateRequests, &certificatesv1.CertificateSigningRequest{}, `{"spec":{"expirationSeconds":600},"status":{"certificate":"eA==","conditions":[{"type":"Approved"},{"type":"Denied"},{"type":"Failed"}]}}`,
			map[string]any{"SignerName": "<none>", "RequestedDuration": "10m", "Condition": "Denied,Failed,Issued"}},
		{CertificateRequests, &certificatesv1.CertificateSigningRequest{}, `{}`, map[string]any{"RequestedDuration": "<none>", "Condition": "Pending"}},
		{FlowSchemas, &flowcontrolv1.FlowSchema{}, `{}`, map[string]any{"DistinguisherMethod": "<none>", "MissingPL": "?"}},
		{PriorityLevels, &flowcontrolv1.PriorityLevelConfiguration{}, `{"spec":{"limited":{"limitResponse":{"queuing":{"queues":3}}}}}`, map[string]any{"NominalConcurrencyShares": "<none>", "Queues": int64(3)}},
		{ResourceClaims, &resourcev1.ResourceClaim{}, `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"allocation":{},"reservedFor":[{"uid":"1"}]}}`, map[string]any{"State": "deleted,allocated,reserved"}},
		{ResourceClaims, &resourcev1.ResourceClaim{}, `{}`, map[string]any{"State": "pending"}},
		{ResourceSlices, &resourcev1.ResourceSlice{}, `{}`, map[string]any{"Node": ""}},
		{Components, &corev1.ComponentStatus{}, `{"conditions":[{"type":"Healthy","status":"Unknown"}]}`, map[string]any{"Status": "Unhealthy"}},
		{Components, &corev1.ComponentStatus{}, `{}`, map[string]any{"Status": "Unknown"}},
	} {
		contains(t, row.want, cells(t, row.printer, object(t, row.object, row.text)))
	}
	assert.Len(t, Named.Cells(&resourcev1.DeviceClass{}), 2)
}
