import { onPostgresql } from './testing/on-postgresql.ts'

onPostgresql('messages and batches', [
  'engine/batch',
  'engine/batch-identifiers',
  'engine/hostile',
  'asynchronous/asynchronous',
  'transport/routes',
])
onPostgresql('cryptography', [
  'operations/create-key-pair',
  'operations/cryptographic',
  'operations/derived-and-split',
  'operations/gcm-in-batch',
  'operations/parts',
])
onPostgresql('what other servers do wrong', ['operations/peer-defects', 'operations/peer-defects-more'])
