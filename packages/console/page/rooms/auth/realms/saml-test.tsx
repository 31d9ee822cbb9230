import type { AuthReply } from '@warder/client/browser'
import { useState } from 'react'
import { auth } from '../../../api.ts'
import { Act, ActForm } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Field } from '../../../parts/field.tsx'
import { Status } from '../../../parts/status.tsx'
import { texts } from '../../../texts.ts'
import { readResponse } from './saml-params.ts'

const words = texts.saml
type Finding = AuthReply<'saml.test'>

/** The dry run of a captured response: which check it fails, or who would log in. */
export function SamlTest({ realm }: { readonly realm: string }) {
  const test = auth.useAct('saml.test')
  const [finding, setFinding] = useState<Finding>()
  return (
    <>
      <Act title={words.test}>
        <ActForm
          submit={words.runTest}
          command={() => toCommand('warder admin saml test', [realm], { response: 'response.txt' })}
          act={async ({ response = '' }) => {
            setFinding(undefined)
            const body = { saml_response: readResponse(response) }
            setFinding(await test.mutateAsync({ path: { realm_id: realm }, body }))
          }}
        >
          <Field label={words.response} name="response" isLong help={words.responseHelp} isRequired />
        </ActForm>
      </Act>
      <div role="status">{finding !== undefined && <Found finding={finding} />}</div>
    </>
  )
}

function Found({ finding }: { readonly finding: Finding }) {
  const { accepted, check, reason, subject, roles, claims, attributes } = finding
  const facts: readonly (readonly [string, string])[] = accepted
    ? [
        [words.subject, subject ?? ''],
        [words.roles, roles.join(', ') || words.noAttribute],
        [words.claimsFound, JSON.stringify(claims)],
        [words.attributes, attributes.join(', ') || words.noAttribute],
      ]
    : [
        [words.check, check ?? ''],
        [words.reason, reason ?? ''],
        [words.attributes, attributes.join(', ') || words.noAttribute],
      ]
  return (
    <section aria-labelledby="finding">
      <h2 id="finding">
        <Status kind={accepted ? 'good' : 'danger'}>{accepted ? words.accepted : words.refused}</Status>
      </h2>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>
              <bdi>{value}</bdi>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
