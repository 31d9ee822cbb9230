import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  globSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { root } from '../bundle/entry-points.ts'
import type { Platform } from './lock.ts'

/** Libraries that Node and the native code are linked with: `objdump -T` of both. */
const needs =
  'adduser, debconf (>= 0.5) | debconf-2.0, libatomic1, libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 9)'

export interface DebSource {
  /** Output of `stageLinux`; it is not changed. */
  readonly prefix: string
  readonly cpu: Platform['cpu']
  readonly version: string
  readonly time: Date
}

/** Whether `dpkg-deb` is here. */
export function hasDpkgDeb(): boolean {
  return spawnSync('dpkg-deb', ['--version']).status === 0
}

/**
 * Makes a Debian package of a prefix: the units of systemd, a user and folders besides.
 * @param folder is made anew, and contains the tree of the package
 * @param file the package
 */
export function packDeb(folder: string, file: string, { prefix, cpu, version, time }: DebSource): void {
  rmSync(folder, { recursive: true, force: true })
  const usr = join(folder, 'usr')
  cpSync(prefix, usr, { recursive: true })
  const [deploy, share] = [join(root, 'deploy'), join(usr, 'share')]
  renameSync(join(share, 'zsh', 'site-functions'), join(share, 'zsh', 'vendor-completions'))
  const doc = join(share, 'doc', 'warder')
  rmSync(join(doc, 'LICENSE'))
  cpSync(join(deploy, 'debian', 'copyright'), join(doc, 'copyright'))
  const date = `${time.toUTCString().slice(0, -3)}+0000`
  const changes = `warder (${version}) unstable; urgency=medium\n\n  * ${version}.\n\n -- ${maintainer}  ${date}\n`
  writeFileSync(join(doc, 'changelog.gz'), gzipSync(changes, { level: 9 }))
  for (const page of globSync('man/man1/*.1', { cwd: share }).map((name) => join(share, name))) {
    writeFileSync(`${page}.gz`, gzipSync(readFileSync(page), { level: 9 }))
    rmSync(page)
  }
  const units = join(usr, 'lib', 'systemd', 'system')
  mkdirSync(units, { recursive: true })
  for (const unit of readdirSync(join(deploy, 'systemd')))
    cpSync(join(deploy, 'systemd', unit), join(units, unit))
  const settings = join(folder, 'etc', 'warder')
  mkdirSync(settings, { recursive: true })
  cpSync(join(deploy, 'debian', 'warder.env'), join(settings, 'warder.env'))
  const control = join(folder, 'DEBIAN')
  mkdirSync(control)
  for (const script of ['postinst', 'prerm', 'postrm'])
    cpSync(join(deploy, 'debian', script), join(control, script))
  cpSync(join(deploy, 'debian', 'templates'), join(control, 'templates'))
  writeFileSync(join(control, 'conffiles'), '/etc/warder/warder.env\n')
  const bytes = files(usr).reduce((sum, path) => sum + statSync(path).size, 0)
  writeFileSync(join(control, 'control'), formatControl(version, cpu, Math.ceil(bytes / 1024)))
  for (const path of [folder, ...entries(folder)]) {
    chmodSync(path, statSync(path).isDirectory() || isProgram(path) ? 0o755 : 0o644)
    lutimesSync(path, time, time)
  }
  // One thread: several make other bytes, depending on their number.
  const words = ['--root-owner-group', '-Zxz', '-z1', '--threads-max=1', '--build', folder, file]
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(time.getTime() / 1000) }
  const { status, stderr } = spawnSync('dpkg-deb', words, { encoding: 'utf8', env })
  if (status !== 0) throw new Error(`dpkg-deb failed:\n${stderr}`)
}

const maintainer = 'Warder <packages@warder.invalid>'

function formatControl(version: string, cpu: Platform['cpu'], kibibytes: number): string {
  return `Package: warder
Version: ${version}
Architecture: ${cpu === 'x64' ? 'amd64' : cpu}
Maintainer: ${maintainer}
Installed-Size: ${kibibytes}
Depends: ${needs}
Section: admin
Priority: optional
Description: authentication service and key management service
 One self-hosted product with two services: one says who you are, the other keeps
 keys and uses them for you, over REST with JOSE, KMIP, ACME and the interfaces
 that clouds have for keys of others.
 .
 It brings its own Node. Installing it starts nothing.
`
}

function entries(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map(({ parentPath, name }) =>
    join(parentPath, name),
  )
}

const files = (folder: string): readonly string[] => entries(folder).filter((path) => statSync(path).isFile())

const isProgram = (path: string): boolean =>
  /\/(usr\/bin\/warder|usr\/lib\/warder\/node|DEBIAN\/(postinst|prerm|postrm))$/.test(path)
