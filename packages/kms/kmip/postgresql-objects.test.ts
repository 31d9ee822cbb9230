import { onPostgresql } from './testing/on-postgresql.ts'

onPostgresql('lives and rights of objects', [
  'operations/life-cycle',
  'operations/life-cycle-model',
  'operations/tenants-hostile',
  'operations/attributes',
  'operations/attributes-hostile',
  'operations/creation-rules',
])
onPostgresql('keys in and out', [
  'operations/register-get',
  'operations/import-export',
  'operations/certificate-files',
  'operations/re-key',
  'operations/certify',
  'operations/both-worlds',
  'operations/templates',
])
