import { onPostgresql } from './testing/on-postgresql.ts'

onPostgresql('messages and batches', [
  'engine/batch',
  'engine/batch-identifiers',
  'engine/hostile',
  'asynchronous/asynchronous',
  'transport/routes',
])
onPostgresql('cryptography', [
  'operations/objects/create-key-pair',
  'operations/crypto/cryptographic',
  'operations/objects/derived-and-split',
  'operations/crypto/gcm-in-batch',
  'operations/crypto/parts',
])
onPostgresql('what other servers do wrong', ['operations/peer-defects', 'operations/peer-defects-more'])
