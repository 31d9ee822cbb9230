import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export interface Endpoints {
  readonly auth: { readonly url: string }
  readonly kms: { readonly url: string }
  /** Only while the KMIP socket listens. */
  readonly kmip?: { readonly host: string; readonly port: number }
}

/** Writes `endpoints.json` whole or not at all; whoever finds it can talk to both services. */
export function writeEndpoints(home: string, endpoints: Endpoints): void {
  const path = join(home, 'endpoints.json')
  const file = openSync(`${path}.new`, 'w', 0o600)
  writeSync(file, `${JSON.stringify(endpoints, undefined, 2)}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(`${path}.new`, path)
}

export function removeEndpoints(home: string): void {
  rmSync(join(home, 'endpoints.json'), { force: true })
}
