import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Endpoint } from 'warder/testing'

/** Certificates as files, for programs that want them so. */
export interface ClientFiles extends Disposable {
  readonly folder: string
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Writes the certificates of an endpoint to a new folder, which goes when it is disposed of. */
export function clientFiles({ ca = '', cert = '', key = '' }: Endpoint): ClientFiles {
  const folder = mkdtempSync(join(tmpdir(), 'warder-client-'))
  const write = (name: string, pem: string): string => {
    const path = join(folder, name)
    writeFileSync(path, pem, { mode: 0o600 })
    return path
  }
  return {
    folder,
    ca: write('ca.crt', ca),
    cert: write('client.crt', cert),
    key: write('client.key', key),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
