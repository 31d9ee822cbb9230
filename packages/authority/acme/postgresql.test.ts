import { runOnPostgresql } from '@warder/storage/testing'

await runOnPostgresql(import.meta.dirname, ['acme', 'resources', 'attacks'])
