import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listNeededPackages, type Needed, type Platform, readLockedPackages } from './lock.ts'
import { foreignDependencies, readManifest } from './manifest.ts'
import { bundled, isUnbundled } from './warder.ts'

/** The npm package that carries the Node of a platform. */
export const formatNodePackage = ({ os, cpu }: Platform): string => `node-${os}-${cpu}`

/**
 * Packages from registries that Warder needs, its Node included.
 * @param nodes the packages that carry the Node
 * @param platform omits packages for other platforms
 * @param isWanted of the packages that Warder names itself
 */
function packagesWith(
  nodes: readonly string[],
  platform: Platform | undefined,
  isWanted: (name: string) => boolean,
): readonly Needed[] {
  const members = ['warder', ...bundled].map((name) => {
    const folder = `packages/${name}`
    return [folder, Object.keys(foreignDependencies([readManifest(folder)])).filter(isWanted)] as const
  })
  return listNeededPackages(readLockedPackages(), [...members, ['', nodes]], platform)
}

/** Packages from registries that Warder needs on a platform, its Node included. @param platform absent: on all of them */
export function runtimePackages(platform?: Platform): readonly Needed[] {
  const nodes =
    platform === undefined
      ? Object.keys(readManifest('.').optionalDependencies ?? {})
      : [formatNodePackage(platform)]
  return packagesWith(nodes, platform, () => true)
}

/**
 * Installs the dependencies of Warder that are not bundled for a platform, which need not be this one: `npm ci` fetches
 * each archive and verifies it by the hash of the lock file; no script of a package runs.
 * @param folder is made anew; the packages are in its `node_modules`
 * @throws Error with the message of npm, or the packages that it installed in excess or not at all
 */
export function installRuntime(folder: string, platform: Platform): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const nodes = [formatNodePackage(platform)]
  const expected = packagesWith(nodes, platform, isUnbundled)
  // npm requires the whole lock file, and installs the packages for the platform.
  const all = packagesWith(nodes, undefined, isUnbundled)
  const unpinned = expected.filter(({ integrity }) => !integrity?.startsWith('sha512-'))
  if (unpinned.length > 0) throw new Error(`the lock file has no hash of ${unpinned.map(({ path }) => path)}`)
  const top = expected.filter(({ path }) => path.lastIndexOf('node_modules/') === 0)
  const versions = (optional: boolean) =>
    Object.fromEntries(
      top.filter((each) => (each.optional ?? false) === optional).map(({ name, version }) => [name, version]),
    )
  // npm checks packages that are not optional against this machine, regardless of the given platform.
  const project = {
    ...{ name: 'warder-runtime', version: '0.0.0', private: true },
    ...{ dependencies: versions(false), optionalDependencies: versions(true) },
  }
  const locked = all.map(({ path, name: _, needs: __, ...entry }) => [path, entry])
  const lock = {
    ...{ name: project.name, version: project.version, lockfileVersion: 3, requires: true },
    packages: Object.fromEntries([['', project], ...locked]),
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  const { os, cpu, libc } = platform
  const { status, stderr } = spawnSync('npm', [...words, `--os=${os}`, `--cpu=${cpu}`, `--libc=${libc}`], {
    ...{ cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' },
  })
  if (status !== 0) throw new Error(`npm could not install what Warder needs on ${os} ${cpu}:\n${stderr}`)
  for (const left of ['.package-lock.json', '.bin', '.cache'])
    rmSync(join(folder, 'node_modules', left), { recursive: true, force: true })
  const installed = globSync(
    ['node_modules/{*,@*/*}/package.json', 'node_modules/**/node_modules/{*,@*/*}/package.json'],
    {
      cwd: folder,
    },
  ).map((file) => file.slice(0, -'/package.json'.length))
  const missing = expected.filter(({ path }) => !installed.includes(path)).map(({ path }) => path)
  const more = installed.filter((path) => !expected.some((each) => each.path === path))
  if (missing.length + more.length > 0)
    throw new Error(
      `npm installed something else than the lock file says: without ${missing}; besides ${more}`,
    )
}
