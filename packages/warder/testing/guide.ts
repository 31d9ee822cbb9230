import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanEnvironment } from './installation.ts'
import { command } from './program.ts'

const root = new URL('../../../', import.meta.url)

/** The shell commands of a page, block by block. @param page path in the repository */
export function readCommands(page: string): readonly string[] {
  const text = readFileSync(new URL(page, root), 'utf8')
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')
}

/** Which of these programs are not here: a reason to skip. */
export function missingPrograms(...names: readonly string[]): string | false {
  const missing = names.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)
  return missing.length === 0 ? false : `not here: ${missing.join(', ')}`
}

/** Runs commands as a reader does, in a folder where `warder` and `npx warder` are this one; stops at what fails. */
export function runCommands(
  commands: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly status: number | null; readonly text: string }> {
  const script = (name: string, words: string): void => {
    const path = join(folder, name)
    writeFileSync(path, `#!/bin/sh\n${words}exec ${command.map((word) => `"${word}"`).join(' ')} "$@"\n`)
    chmodSync(path, 0o700)
  }
  script('warder', '')
  script('npx', '[ "$1" = warder ] || exit 2\nshift\n')
  return new Promise((resolve) => {
    const environment = {
      ...cleanEnvironment(env),
      PATH: `${folder}:${process.env.PATH}`,
      no_proxy: '127.0.0.1',
    }
    const child = spawn('sh', ['-eu'], { cwd: folder, env: environment })
    let text = ''
    const collect = (chunk: Buffer): void => {
      text += chunk.toString()
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.on('close', (status) => resolve({ status, text }))
    child.stdin.end(commands.join('\n'))
  })
}
