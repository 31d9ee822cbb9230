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
import { describeWriteError, StartupError } from '@warder/base'
import { formatSettingsToml } from '@warder/runtime/settings'

/** Outcome of writing settings. */
export type Written = 'written' | 'there already' | 'not ours'

/**
 * Adds settings to a file, unless their section exists: it then belongs to the operator. Writes atomically with mode 0600.
 * @param settings by dotted names, all of one section
 * @returns `not ours`: the section exists with other content
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
