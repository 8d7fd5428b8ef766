// A table of rows to choose from, made once and filled anew: what has the focus keeps it.

import { choosable, emptyRow, table } from "./dom.js";

export class RowTable {
  constructor(element, head, { empty, choose }) {
    this.choose = choose;
    this.columns = head.length;
    this.items = [];
    this.rows = [];
    this.none = emptyRow(head.length, empty);
    table(element, head, [this.none]);
    this.body = element.tBodies[0];
  }

  /** Shows items as rows of cells; `write` makes the texts of an item. */
  show(items, write) {
    this.items = items;
    while (this.rows.length < items.length) this.#add();
    if (items.length) this.none.remove();
    else this.body.append(this.none);
    this.rows.forEach((row, place) => {
      row.hidden = place >= items.length;
      if (row.hidden) return;
      write(items[place]).forEach((text, column) => {
        const cell = row.cells[column];
        if (cell.textContent !== text) cell.textContent = text;
      });
    });
  }

  #add() {
    const place = this.rows.length;
    const row = choosable(Array(this.columns).fill(""), () => this.choose(this.items[place]));
    if (!place) row.tabIndex = 0;
    this.rows.push(row);
    this.body.append(row);
  }
}
