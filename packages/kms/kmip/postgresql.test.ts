import { onPostgresql } from './testing/on-postgresql.ts'

onPostgresql('messages and batches', [
  'engine/batch',
  'engine/hostile',
  'asynchronous/asynchronous',
  'transport/routes',
])
onPostgresql('cryptography', [
  'operations/create-key-pair',
  'operations/cryptographic',
  'operations/derived-and-split',
  'operations/parts',
])
onPostgresql('what other servers do wrong', ['operations/peer-defects', 'operations/peer-defects-more'])
