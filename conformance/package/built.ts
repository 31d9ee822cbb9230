import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * An artifact that `npm run package` made, in the folder that WARDER_ARTIFACTS names.
 * @param ending of its name
 */
export function artifact(ending: string): { readonly file: string } | { readonly missing: string } {
  const folder = process.env.WARDER_ARTIFACTS
  if (folder === undefined || !existsSync(folder))
    return { missing: 'set WARDER_ARTIFACTS to the folder of `npm run package`' }
  const name = readdirSync(folder).find((each) => each.endsWith(ending))
  return name === undefined
    ? { missing: `there is no …${ending} in ${folder}` }
    : { file: join(folder, name) }
}
