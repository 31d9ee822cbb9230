// Shows /openapi.json and sends requests. Every text goes in as text, never as markup.

const byId = (id) => document.getElementById(id)

function element(name, text, attributes = {}) {
  const made = document.createElement(name)
  if (text !== undefined) made.textContent = text
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  return made
}

/** A value to start from, read off a schema. */
function example(schema, depth = 0) {
  if (schema === undefined || depth > 6) return null
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (schema.enum) return schema.enum[0]
  const choice = schema.anyOf ?? schema.oneOf
  if (choice) return example(choice[0], depth + 1)
  if (schema.type === 'array') return []
  if (schema.type === 'object') {
    const members = (schema.required ?? []).map((name) => [
      name,
      example(schema.properties?.[name], depth + 1),
    ])
    return Object.fromEntries(members)
  }
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 0
  if (schema.type === 'boolean') return false
  return schema.type === 'null' ? null : ''
}

function operationView(method, path, operation) {
  const view = element('details')
  view.dataset.text = `${method} ${path} ${operation.summary} ${operation.operationId}`.toLowerCase()
  const head = element('summary')
  head.append(
    element('span', method.toUpperCase(), { class: 'method' }),
    element('span', path),
    element('span', operation.summary, { class: 'summary' }),
  )
  view.append(head)
  // The body of a closed entry is made when it is first opened.
  view.addEventListener('toggle', () => view.append(...operationBody(method, path, operation)), {
    once: true,
  })
  return view
}

function operationBody(method, path, operation) {
  const parts = [element('p', operation.description)]
  const inputs = (operation.parameters ?? []).map((parameter) => {
    const label = element(
      'label',
      `${parameter.name} (${parameter.in}${parameter.required ? ', required' : ''}) `,
    )
    const input = element('input', undefined, { name: parameter.name })
    label.append(input)
    const line = element('p')
    line.append(label)
    parts.push(line)
    return { parameter, input }
  })
  const schema = operation.requestBody?.content?.['application/json']?.schema
  let body
  if (schema) {
    parts.push(element('h4', 'Body'), element('pre', JSON.stringify(schema, null, 2)))
    body = element('textarea', undefined, { spellcheck: 'false' })
    body.value = JSON.stringify(example(schema), null, 2)
    parts.push(body)
  }
  const button = element('button', 'Send', { type: 'button' })
  const output = element('pre')
  output.hidden = true
  button.addEventListener('click', () => send({ method, path, inputs, body, output }))
  parts.push(button, output, element('h4', 'Answers'), answers(operation.responses))
  return parts
}

function answers(responses) {
  const table = element('table')
  for (const [status, response] of Object.entries(responses)) {
    const row = element('tr')
    const detail = element('td', response.description)
    const schema = response.content?.['application/json']?.schema
    if (schema && !schema.$ref) detail.append(element('pre', JSON.stringify(schema, null, 2)))
    row.append(element('td', status), detail)
    table.append(row)
  }
  return table
}

async function send({ method, path, inputs, body, output }) {
  let target = path
  const query = new URLSearchParams()
  for (const { parameter, input } of inputs) {
    if (parameter.in === 'path')
      target = target.replace(`{${parameter.name}}`, encodeURIComponent(input.value))
    else if (input.value !== '') query.set(parameter.name, input.value)
  }
  const headers = {}
  if (byId('authorization').value) headers.Authorization = byId('authorization').value
  if (byId('token').value) headers['X-Secret-Token'] = byId('token').value
  if (body) headers['Content-Type'] = 'application/json'
  const url = query.size > 0 ? `${target}?${query}` : target
  output.hidden = false
  output.textContent = '…'
  try {
    const reply = await fetch(url, {
      method: method.toUpperCase(),
      headers,
      ...(body && { body: body.value }),
      credentials: 'same-origin',
      redirect: 'manual',
    })
    output.textContent = `${reply.status} ${reply.statusText}\n\n${pretty(await reply.text())}`
  } catch (problem) {
    output.textContent = String(problem)
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

async function show() {
  const description = await (await fetch('/openapi.json')).json()
  document.title = description.info.title
  byId('title').textContent = `${description.info.title} ${description.info.version}`
  const groups = new Map(description.tags.map((tag) => [tag.name, element('section')]))
  for (const [name, section] of groups) section.append(element('h2', name))
  for (const [path, item] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      groups.get(operation.tags[0])?.append(operationView(method, path, operation))
    }
  }
  byId('operations').replaceChildren(...groups.values())
  byId('filter').addEventListener('input', (event) => {
    const wanted = event.target.value.toLowerCase()
    for (const view of document.querySelectorAll('details')) view.hidden = !view.dataset.text.includes(wanted)
  })
}

show().catch((problem) => byId('operations').replaceChildren(element('p', String(problem))))
