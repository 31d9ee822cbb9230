import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { kms, queryClient } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { describeError } from '../../../parts/errors.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { quoteShell } from '../../../parts/table-text.ts'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { algorithms } from './algorithms.ts'
import { toKeyPage } from './filter.ts'
import { KeyFileError, type KeyRequest, maxKeyBytes, readKeyText } from './import-file.ts'

import './keys.css'

const words = texts.newKey
type Purpose = keyof typeof words.purposes
const purposes = Object.keys(words.purposes) as Purpose[]
const rsaSizes = [3072, 2048, 4096]

const listAlgorithms = (purpose: Purpose) =>
  algorithms.filter((each) =>
    purpose === 'encryptPair'
      ? each.purpose === 'encrypt' && each.kty !== 'oct'
      : each.purpose === purpose && (purpose !== 'encrypt' || each.kty === 'oct'),
  )

/** Creates a key by its purpose, or imports one. */
export function Room({ query }: RoomProps) {
  const isImport = query.get('import') === 'true'
  const mayCreate = kms.useOperation('access.create', {}).data?.has_create_permission
  return (
    <div className="form-page">
      <RoomHeader title={isImport ? words.importTitle : words.title}>
        <Link to="/ui/keys">{texts.key.all}</Link>
      </RoomHeader>
      {mayCreate === false ? (
        <Empty title={words.notAllowed}>
          <p>{words.notAllowedHelp}</p>
        </Empty>
      ) : isImport ? (
        <ImportKey />
      ) : (
        <CreateKey />
      )}
    </div>
  )
}

const splitTags = (text = ''): readonly string[] =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')

type Dates = Readonly<{ protect_stop_at?: string; deactivation_at?: string }>

/** Creates the key, then sets its dates, which the service takes only afterwards, and opens its page. */
function useCreation(done: string) {
  return useMutation({
    async mutationFn({ body, dates }: { readonly body: KeyRequest; readonly dates: Dates }) {
      const { kid } = await kms.client.call('crypto.keys.create', { body })
      if (Object.keys(dates).length === 0) return { kid, problem: undefined }
      try {
        await kms.client.call('crypto.keys.dates', { path: { kid }, body: dates })
        return { kid, problem: undefined }
      } catch (error) {
        return { kid, problem: describeError(error) }
      }
    },
    onSuccess({ kid, problem }) {
      void queryClient.invalidateQueries()
      if (problem === undefined) showToast(done)
      else showToast(words.datesFailed(problem), 'danger')
      navigate(toKeyPage(kid))
    },
  })
}

function CreateKey() {
  const create = useCreation(words.created)
  const hsms = kms.useOperation('server.info', {}).data?.hsm_instances ?? []
  const [purpose, setPurpose] = useState<Purpose>('encrypt')
  const [name, setName] = useState('')
  const [bits, setBits] = useState(rsaSizes[0] ?? 3072)
  const [tags, setTags] = useState('')
  const [hsm, setHsm] = useState('')
  const [isExtractable, setIsExtractable] = useState(false)
  const choices = listAlgorithms(purpose)
  const algorithm = choices.find((each) => each.name === name) ?? choices[0]
  if (algorithm === undefined) return null
  const { kty, crv, name: alg } = algorithm
  const isRsa = kty === 'RSA'
  const body: KeyRequest = {
    ...{ kty, alg },
    ...(crv !== undefined && { crv }),
    ...(isRsa && { bits }),
    ...(splitTags(tags).length > 0 && { tags: splitTags(tags) }),
    ...(hsm !== '' && { hsm }),
    ...(hsm === '' && !isExtractable && { ext: false }),
  }
  return (
    <>
      <Form
        submit={words.submit}
        isPending={create.isPending}
        error={create.error}
        onSubmit={({ stopAt = '', endAt = '' }) =>
          create.mutate({
            body,
            dates: {
              ...(stopAt !== '' && { protect_stop_at: stopAt }),
              ...(endAt !== '' && { deactivation_at: endAt }),
            },
          })
        }
      >
        <fieldset className="choices">
          <legend>{words.purpose}</legend>
          {purposes.map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="purpose"
                checked={purpose === each}
                onChange={() => setPurpose(each)}
              />{' '}
              {words.purposes[each]}
            </label>
          ))}
        </fieldset>
        <label className="field">
          <span>{words.algorithm}</span>
          <select className="input" value={alg} onChange={({ target }) => setName(target.value)}>
            {choices.map((each, index) => (
              <option key={each.name} value={each.name}>
                {each.name} {index === 0 ? words.recommended : ''}
              </option>
            ))}
          </select>
        </label>
        {isRsa && (
          <label className="field">
            <span>{words.bits}</span>
            <select className="input" value={bits} onChange={({ target }) => setBits(Number(target.value))}>
              {rsaSizes.map((size) => (
                <option key={size} value={size}>
                  {size}
                </option>
              ))}
            </select>
          </label>
        )}
        <Field label={words.tags} help={words.tagsHelp} value={tags} onChange={setTags} autoComplete="off" />
        <Field label={words.stopAt} help={words.datesHelp} name="stopAt" type="date" />
        <Field label={words.endAt} help={words.datesHelp} name="endAt" type="date" />
        {hsms.length > 0 && (
          <label className="field">
            <span>{words.hsm}</span>
            <select className="input" value={hsm} onChange={({ target }) => setHsm(target.value)}>
              <option value="">{words.inDatabase}</option>
              {hsms.map(({ prefix }) => {
                const one = prefix.replace(/^hsm::/, '')
                return (
                  <option key={one} value={one}>
                    {words.inHsm(one)}
                  </option>
                )
              })}
            </select>
          </label>
        )}
        {hsm === '' && (
          <label>
            <input
              type="checkbox"
              checked={isExtractable}
              onChange={() => setIsExtractable(!isExtractable)}
            />{' '}
            {words.extractable}
          </label>
        )}
      </Form>
      <CodeBlock label={texts.key.command} samples={[{ title: texts.key.command, code: toCommand(body) }]} />
    </>
  )
}

function toCommand({ alg, bits, tags, hsm, ext }: KeyRequest): string {
  return [
    `warder keys create --alg ${alg}`,
    ...(bits == null ? [] : [`--bits ${bits}`]),
    ...(tags ?? []).map((tag) => `--tag ${quoteShell(tag)}`),
    ...(hsm == null ? [] : [`--hsm ${quoteShell(hsm)}`]),
    ...(ext === false ? ['--not-extractable'] : []),
  ].join(' ')
}

function ImportKey() {
  const create = useCreation(words.imported)
  const [file, setFile] = useState<File>()
  const [problem, setProblem] = useState<string>()
  const [isExtractable, setIsExtractable] = useState(false)
  const submit = async ({
    text = '',
    alg = '',
    tags = '',
  }: Readonly<Record<string, string>>): Promise<void> => {
    setProblem(undefined)
    try {
      if ((file?.size ?? 0) > maxKeyBytes) throw new KeyFileError(words.problems.large)
      const request = await readKeyText(file === undefined ? text : await file.text())
      const named = splitTags(tags)
      const body = {
        ...request,
        ...(alg !== '' && { alg }),
        ...(named.length > 0 && { tags: named }),
        ...(!isExtractable && { ext: false }),
      }
      await create.mutateAsync({ body, dates: {} })
    } catch (error) {
      if (error instanceof KeyFileError) setProblem(error.message)
    }
  }
  return (
    <>
      <Form
        submit={words.submitImport}
        isPending={create.isPending}
        error={problem ?? create.error}
        onSubmit={(values) => void submit(values)}
      >
        <label className="field">
          <span>{words.file}</span>
          <input type="file" className="input" onChange={({ target }) => setFile(target.files?.[0])} />
          <span className="quiet">{words.fileHelp}</span>
        </label>
        <label className="field">
          <span>{words.orText}</span>
          <textarea name="text" rows={6} className="input code-input" spellCheck={false} autoComplete="off" />
          <span className="quiet">{words.textHelp}</span>
        </label>
        <label className="field">
          <span>{words.boundTo}</span>
          <select name="alg" className="input">
            <option value="">{words.anyAlgorithm}</option>
            {algorithms.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <Field label={words.tags} help={words.tagsHelp} name="tags" autoComplete="off" />
        <label>
          <input type="checkbox" checked={isExtractable} onChange={() => setIsExtractable(!isExtractable)} />{' '}
          {words.extractable}
        </label>
      </Form>
      <CodeBlock
        label={texts.key.command}
        samples={[{ title: texts.key.command, code: 'warder keys import FILE --tag TAG --not-extractable' }]}
      />
    </>
  )
}
