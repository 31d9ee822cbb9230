import { runOnPostgresql } from '@warder/storage/testing'

await runOnPostgresql(import.meta.dirname, [
  'operations/life-cycle/life-cycle',
  'operations/life-cycle/life-cycle-model',
  'operations/tenants-hostile',
  'operations/attributes/attributes',
  'operations/attributes/attributes-hostile',
  'operations/attributes/creation-rules',
  'operations/transfer/register-get',
  'operations/transfer/import-export',
  'operations/transfer/certificate-files',
  'operations/objects/re-key',
  'operations/certificates/certify',
  'operations/both-worlds',
  'operations/objects/templates',
  'operations/abe/abe',
  'operations/abe/rotation',
  'operations/abe/brought',
])
