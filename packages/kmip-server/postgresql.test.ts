import { runOnPostgresql } from '@warder/storage/testing'

await runOnPostgresql(import.meta.dirname, [
  'engine/batch',
  'engine/batch-identifiers',
  'engine/hostile',
  'asynchronous/asynchronous',
  'transport/routes',
  'operations/objects/create-key-pair',
  'operations/crypto/cryptographic',
  'operations/objects/derived-and-split',
  'operations/crypto/gcm-in-batch',
  'operations/crypto/parts',
  'operations/peer-defects',
  'operations/peer-defects-more',
])
