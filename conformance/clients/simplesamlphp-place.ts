import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canRun, runProgram } from './run-program.ts'

/** SimpleSAMLphp and the PHP that runs it. */
export interface SimpleSamlPhp {
  /** Folder with `www` and `schemas`. */
  readonly folder: string
  readonly php: string
  /** Words before the script. */
  readonly phpOptions: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** undefined: it is not here. */
  readonly xmllint: string | undefined
}

/** Debian packages that are enough to run it from the command line; PHP 8.2 is that of Debian 12. */
export const packages = [
  ...['simplesamlphp', 'php8.2-cli', 'php8.2-common', 'php8.2-xml', 'php8.2-mbstring', 'php8.2-opcache'],
  ...['libonig5', 'libargon2-1', 'libsodium23', 'libxml2-utils'],
]
const extensions = [
  'ctype',
  'dom',
  'fileinfo',
  'iconv',
  'mbstring',
  'phar',
  'posix',
  'simplexml',
  'tokenizer',
  'xml',
  'xmlreader',
  'xmlwriter',
]

/** PHP code that succeeds if the extensions that are separate packages are installed. */
const hasExtensions = "exit(extension_loaded('dom') && extension_loaded('mbstring') ? 0 : 1);"

/** As installed, or in the folder of `WARDER_SIMPLESAMLPHP`, into which its packages were unpacked. */
export function findSimpleSamlPhp(root = process.env.WARDER_SIMPLESAMLPHP ?? '/'): SimpleSamlPhp | undefined {
  const folder = join(root, 'usr/share/simplesamlphp')
  if (!existsSync(join(folder, 'www'))) return undefined
  if (root === '/') {
    const xmllint = canRun('xmllint', ['--version']) ? 'xmllint' : undefined
    const canRunIt = canRun('php', ['-r', hasExtensions])
    return canRunIt ? { folder, php: 'php', phpOptions: [], env: {}, xmllint } : undefined
  }
  const php = join(root, 'usr/bin/php8.2')
  const env = { LD_LIBRARY_PATH: join(root, 'usr/lib/x86_64-linux-gnu') }
  const loaded = extensions.flatMap((name) => ['-d', `extension=${name}`])
  const phpOptions = ['-n', '-d', `extension_dir=${join(root, 'usr/lib/php/20220829')}`, ...loaded]
  const xmllint = join(root, 'usr/bin/xmllint')
  if (!canRun(php, [...phpOptions, '-v'], env)) return undefined
  return { folder, php, phpOptions, env, xmllint: canRun(xmllint, ['--version'], env) ? xmllint : undefined }
}

/** Unpacks the Debian packages into a new folder, without installing anything. @returns the folder, undefined: not to be had */
export async function unpackSimpleSamlPhp(): Promise<string | undefined> {
  const root = mkdtempSync(join(tmpdir(), 'warder-simplesamlphp-'))
  const script = `cd "$1" && apt-get download ${packages.join(' ')} && for file in *.deb; do dpkg-deb -x "$file" . || exit 1; done`
  writeFileSync(join(root, 'unpack.sh'), script)
  try {
    const { code } = await runProgram('sh', [join(root, 'unpack.sh'), root], { timeoutMs: 180_000 })
    if (code === 0) return root
  } catch {
    // There is no shell, or no apt.
  }
  rmSync(root, { recursive: true, force: true })
  return undefined
}
