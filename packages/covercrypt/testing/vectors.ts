import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Exchanged keys and ciphertexts: `$WARDER_VECTORS/covercrypt`, by default in a folder beside the checkout. */
const folder = join(
  process.env.WARDER_VECTORS ?? fileURLToPath(new URL('../../../../shared/vectors', import.meta.url)),
  'covercrypt',
)

/** The reason to skip if the files are absent. */
export const skipVectors: string | false = existsSync(join(folder, 'lifecycle.json'))
  ? false
  : 'the vectors of Covercrypt are not here (WARDER_VECTORS)'

export function vectors<File>(name: string): File {
  return JSON.parse(readFileSync(join(folder, name), 'utf8')) as File
}

export interface UserVector {
  readonly name: string
  readonly policy: string
  readonly rights: readonly string[]
  readonly usk: string
}

export interface EncapsulationVector {
  readonly name: string
  readonly policy: string
  readonly mode: string
  readonly target_rights: readonly string[]
  readonly encapsulation: string
  readonly secret: string
  readonly opened_by: Readonly<Record<string, boolean>>
}

export interface OpenedVector {
  readonly name: string
  readonly opened_by: Readonly<Record<string, boolean>>
}
