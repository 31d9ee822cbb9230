import { readFileSync } from 'node:fs'

const manifest: unknown = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8'))

/** Version of the package, e.g. `0.1.0`. */
export const version: string =
  typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '0'
