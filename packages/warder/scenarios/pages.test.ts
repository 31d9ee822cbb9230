import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { formatForeignReference, formatSettingsReference } from '@warder/runtime/testing'
import { commands } from '../commands.ts'
import { getForeignSettings, getSettings } from '../installation/services.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
}))

/** Places of a page that links can name, as readers of Markdown make them. */
function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('the links of the pages lead somewhere', () => {
  assert.ok(pages.length > 40)
  const broken: string[] = []
  for (const { path, text } of pages) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      const [file = '', anchor] = target.split('#')
      const found = file === '' ? join(root, path) : join(root, dirname(path), file)
      if (!existsSync(found)) broken.push(`${path}: ${target}`)
      else if (anchor !== undefined && !anchorsOf(readFileSync(found, 'utf8')).includes(anchor))
        broken.push(`${path}: ${target}`)
    }
  }
  assert.deepEqual(broken, [])
})

test('the files and folders that the pages name are there', () => {
  const missing: string[] = []
  for (const { path, text } of pages) {
    for (const [, named = ''] of text.matchAll(
      /`((?:packages|conformance|bench|docs|scripts)\/[\w./-]+)`/g,
    )) {
      if (!existsSync(join(root, named))) missing.push(`${path}: ${named}`)
    }
  }
  assert.deepEqual(missing, [])
})

test('the environment variables that the pages name are read', () => {
  const settings = ['auth', 'kms'] as const
  const known = settings
    .flatMap((service) => [
      formatSettingsReference(service, getSettings(service)),
      formatForeignReference(service, getForeignSettings(service)),
    ])
    .join('\n')
  const unknown: string[] = []
  for (const { path, text } of pages) {
    for (const [name] of text.matchAll(/\b(?:AUTH|KMS)_[A-Z][A-Z_]+\b/g)) {
      if (!known.includes(`\`${name}\``)) unknown.push(`${path}: ${name}`)
    }
  }
  assert.deepEqual(unknown, [])
})

test('the commands that the pages name are there', () => {
  const names = new Set(commands.map(({ name }) => name))
  const unknown: string[] = []
  for (const { path, text } of pages) {
    // `warder file v1 …`, `… v2 …` are texts of the file format, `warder root key` is the label of a key.
    for (const [, name = ''] of text.matchAll(/(?:`|npx )warder (?!file v\d|root key`)([a-z][a-z-]*)/g)) {
      if (!names.has(name)) unknown.push(`${path}: warder ${name}`)
    }
  }
  assert.deepEqual(unknown, [])
})

test('every guide and reference page is in the index', () => {
  const index = pages.find(({ path }) => path === 'docs/README.md')?.text ?? ''
  const listed = pages
    .map(({ path }) => path)
    .filter((path) => /^docs\/(?!adr\/|README)/.test(path))
    .filter((path) => !index.includes(`(${path.slice('docs/'.length)})`))
  assert.deepEqual(listed, [])
})
