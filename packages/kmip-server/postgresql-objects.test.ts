import { onPostgresql } from './testing/on-postgresql.ts'

onPostgresql('lives and rights of objects', [
  'operations/life-cycle/life-cycle',
  'operations/life-cycle/life-cycle-model',
  'operations/tenants-hostile',
  'operations/attributes/attributes',
  'operations/attributes/attributes-hostile',
  'operations/attributes/creation-rules',
])
onPostgresql('keys in and out', [
  'operations/transfer/register-get',
  'operations/transfer/import-export',
  'operations/transfer/certificate-files',
  'operations/objects/re-key',
  'operations/certificates/certify',
  'operations/both-worlds',
  'operations/objects/templates',
])
onPostgresql('attribute-based keys', ['operations/abe/abe'])
onPostgresql('rotation of attribute-based keys', ['operations/abe/rotation', 'operations/abe/brought'])
