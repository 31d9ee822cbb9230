// Writes the types of packages/client from the service's operation table; with --check says whether they are current.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { clientTypes } from '@warder/client/generate'
import { openApiDocument } from '@warder/foundation/operations'
import { systemClock } from '@warder/foundation/runtime'
import { openSqlite } from '@warder/foundation/sql'
import { kmsOperations } from '@warder/kms/operations'

/** The committed file. */
export const generatedFile = fileURLToPath(new URL('../../client/api.gen.ts', import.meta.url))

/** What the committed file has to hold. */
export function currentTypes(): string {
  const db = openSqlite({ path: ':memory:' })
  const operations = kmsOperations({ db, clock: systemClock, baseUrl: 'https://localhost' })
  return clientTypes(
    openApiDocument({
      title: 'Warder key management service',
      version: '0',
      serverUrl: 'https://localhost',
      operations,
    }),
  )
}

if (import.meta.main) {
  if (process.argv.includes('--check')) {
    if (readFileSync(generatedFile, 'utf8') !== currentTypes()) {
      process.stderr.write(
        'packages/client/api.gen.ts is not up to date: node packages/warder/client/generate.ts\n',
      )
      process.exitCode = 1
    }
  } else {
    writeFileSync(generatedFile, currentTypes())
    process.stdout.write('packages/client/api.gen.ts written\n')
  }
}
