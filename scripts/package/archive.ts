import { readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { create } from 'tar'

/**
 * Packs a folder as `FILE.tar.gz` with one top folder: sorted, without owners, all of one time, so that the same content is
 * the same bytes.
 * @param time of every entry
 */
export async function archive(folder: string, file: string, time: Date): Promise<void> {
  const above = dirname(folder)
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => relative(above, join(entry.parentPath, entry.name)))
    .toSorted()
  await create({ file, cwd: above, gzip: { level: 9 }, portable: true, mtime: time, noDirRecurse: true }, [
    basename(folder),
    ...entries,
  ])
}
