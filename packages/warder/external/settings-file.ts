import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { formatSettingsToml } from '@warder/foundation/config'
import { describeWriteError, StartupError } from '@warder/foundation/errors'

/** Outcome of writing settings. */
export type Written = 'written' | 'there already' | 'not ours'

/**
 * Adds settings to a file, where none of their section is in it: what somebody wrote there is theirs. Whole or not at
 * all, for its owner only.
 * @param settings by their dotted names, all of one section
 * @returns `not ours`: the section is there and says something else
 */
export function addSettings(path: string, settings: ReadonlyMap<string, unknown>): Written {
  const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const added = formatSettingsToml(settings).trim()
  if (before.includes(added)) return 'there already'
  const [section = ''] = [...settings.keys()].map((key) => key.split('.')[0] ?? '')
  if (new RegExp(`^\\s*(?:\\[\\s*)?"?${section}"?\\s*[\\].=]`, 'm').test(before)) return 'not ours'
  const gap = before === '' || before.endsWith('\n\n') ? '' : before.endsWith('\n') ? '\n' : '\n\n'
  writeFileAtomically(path, `${before}${gap}${added}\n`)
  return 'written'
}

/** @throws StartupError */
export function writeFileAtomically(path: string, text: string): void {
  const beside = `${path}.new`
  try {
    rmSync(beside, { force: true })
    const file = openSync(beside, 'wx', 0o600)
    writeFileSync(file, text)
    fsyncSync(file)
    closeSync(file)
    renameSync(beside, path)
  } catch (error) {
    throw new StartupError(`${path} cannot be written: ${describeWriteError(error, path)}`)
  }
}
