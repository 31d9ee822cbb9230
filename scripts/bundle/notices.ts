import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './entry-points.ts'

/** Folder below `node_modules` of the npm package that a file belongs to; undefined for our own. */
export function findPackage(file: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]
}

/**
 * Names, versions and licences of npm packages, with the notices that their licences want kept.
 * @param folders of the packages, from the root
 * @throws Error if a package has neither a text nor the name of a licence
 */
export function readNotices(folders: readonly string[]): string {
  const parts = folders.toSorted().map((folder) => {
    const path = join(root, folder)
    const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as {
      readonly name: string
      readonly version: string
      readonly license?: string
      readonly author?: string | { readonly name: string }
    }
    const files = readdirSync(path).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name))
    const texts = files.toSorted().map((name) => readFileSync(join(path, name), 'utf8').trim())
    if (texts.length === 0 && manifest.license === undefined) throw new Error(`${folder} names no licence`)
    const author = typeof manifest.author === 'object' ? manifest.author.name : manifest.author
    const own = texts.length > 0 ? texts : [`Copyright ${author ?? `the authors of ${manifest.name}`}`]
    return `${manifest.name} ${manifest.version} (${manifest.license ?? 'see below'})\n\n${own.join('\n\n')}\n`
  })
  const rule = `\n${'-'.repeat(80)}\n\n`
  return `The code of Warder contains code of these packages.\n${rule}${parts.join(rule)}`
}
