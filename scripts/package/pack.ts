// Packs `warder` and `@warder/client` for npm: node_modules/.bin/node scripts/package/pack.ts [FOLDER]
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { root } from '../bundle/entry-points.ts'
import { stageClient } from './client.ts'
import { stageWarder } from './warder.ts'

/** Packs the folder that `stage` fills. @param folder for the archive @returns its path @throws Error */
export async function packFolder(
  folder: string,
  name: string,
  stage: (staged: string) => Promise<void> | void,
): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const staged = join(folder, `${name}.staged`)
  await stage(staged)
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { status, stdout, stderr } = spawnSync('npm', words, {
    ...{ cwd: staged, encoding: 'utf8', shell: process.platform === 'win32' },
  })
  if (status !== 0) throw new Error(`npm pack of ${name} failed:\n${stderr}`)
  const [{ filename } = { filename: '' }] = JSON.parse(stdout) as { filename: string }[]
  rmSync(staged, { recursive: true })
  return join(folder, filename.replace('@', '').replace('/', '-'))
}

/** Makes both packages. @param folder for the archives @returns their paths @throws Error */
export async function pack(folder: string): Promise<{ readonly warder: string; readonly client: string }> {
  return {
    warder: await packFolder(folder, 'warder', stageWarder),
    client: await packFolder(folder, 'client', stageClient),
  }
}

if (import.meta.main) {
  const { warder, client } = await pack(resolve(process.argv[2] ?? join(root, 'dist')))
  process.stdout.write(`${warder}\n${client}\n`)
}
