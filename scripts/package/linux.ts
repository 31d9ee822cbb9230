import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { noticesName } from '../bundle/bundle.ts'
import { root } from '../bundle/entry-points.ts'
import { billOfMaterials } from './bill-of-materials.ts'
import type { Platform } from './lock.ts'
import { formatNodePackage, installRuntime, runtimePackages } from './runtime.ts'
import { installedPages } from './warder.ts'

/** The bill of materials in `share/doc/warder`. */
export const billName = 'warder.cdx.json'

/**
 * Lays out Warder with its own Node as a prefix of a Linux system: `bin/warder`, `lib/warder`, `share`. Runs wherever glibc 2.28
 * and libstdc++ are, needs neither npm nor Node.
 * @param prefix is made anew
 * @param command the folder that `stageWarder` made
 * @param time in the bill of materials
 */
export function stageLinux(prefix: string, platform: Platform, command: string, time: Date): void {
  const work = `${prefix}.work`
  rmSync(prefix, { recursive: true, force: true })
  const lib = join(prefix, 'lib', 'warder')
  mkdirSync(lib, { recursive: true })
  mkdirSync(join(prefix, 'bin'))
  const app = join(lib, 'app')
  cpSync(command, app, { recursive: true })
  installRuntime(work, platform)
  const modules = join(work, 'node_modules')
  const node = join(modules, formatNodePackage(platform))
  renameSync(join(node, 'bin', 'node'), join(lib, 'node'))
  chmodSync(join(lib, 'node'), 0o755)
  renameSync(join(node, 'LICENSE'), join(lib, 'node.LICENSE'))
  rmSync(node, { recursive: true })
  renameSync(modules, join(app, 'node_modules'))
  rmSync(work, { recursive: true })
  cpSync(join(root, 'deploy', 'linux', 'warder'), join(prefix, 'bin', 'warder'))
  chmodSync(join(prefix, 'bin', 'warder'), 0o755)
  writeShared(join(prefix, 'share'), app)
  const bill = billOfMaterials(runtimePackages(platform), time)
  writeFileSync(join(prefix, 'share', 'doc', 'warder', billName), `${JSON.stringify(bill, undefined, 2)}\n`)
}

/** Manual pages and completions, which the command itself writes: on the Node of this machine, as its code is the same. */
function writeShared(share: string, app: string): void {
  const run = (...words: string[]): string => {
    const args = [join(app, 'bin', 'warder.mjs'), ...words]
    const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' }
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
    if (status !== 0) throw new Error(`warder ${words.join(' ')} failed: ${stderr}`)
    return stdout
  }
  run('man', '--dir', join(share, 'man', 'man1'))
  for (const [shell, ...path] of [
    ['bash', 'bash-completion', 'completions', 'warder'],
    ['zsh', 'zsh', 'site-functions', '_warder'],
    ['fish', 'fish', 'vendor_completions.d', 'warder.fish'],
  ] as const) {
    const file = join(share, ...path)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, run('completion', shell))
  }
  const doc = join(share, 'doc', 'warder')
  mkdirSync(doc, { recursive: true })
  for (const name of [...installedPages, noticesName])
    cpSync(join(app, name), join(doc, name), { recursive: true })
  rmSync(join(app, 'docs'), { recursive: true })
}
