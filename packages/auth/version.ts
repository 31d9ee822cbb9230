import { readFileSync } from 'node:fs'

/** Semantic version of the service, as `GET /public/version` answers it. */
export const version: string = (
  JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')) as { version: string }
).version
