"""Small databases of the shapes of two that are published everywhere: Northwind and Sakila.

Tables, keys and types are as their users find them in SQLite: composite keys, texts as keys, keys to nothing, dates
as texts and as years, pictures, views and tables for full-text search. The rows are made here.
"""

NORTHWIND = """
CREATE TABLE Categories (CategoryID INTEGER PRIMARY KEY AUTOINCREMENT, CategoryName TEXT, Description TEXT,
  Picture BLOB);
CREATE TABLE CustomerCustomerDemo (CustomerID TEXT NOT NULL, CustomerTypeID TEXT NOT NULL,
  PRIMARY KEY (CustomerID, CustomerTypeID), FOREIGN KEY (CustomerID) REFERENCES Customers (CustomerID),
  FOREIGN KEY (CustomerTypeID) REFERENCES CustomerDemographics (CustomerTypeID));
CREATE TABLE CustomerDemographics (CustomerTypeID TEXT NOT NULL PRIMARY KEY, CustomerDesc TEXT);
CREATE TABLE Customers (CustomerID TEXT PRIMARY KEY, CompanyName TEXT, ContactTitle TEXT, City TEXT, Phone TEXT);
CREATE TABLE Employees (EmployeeID INTEGER PRIMARY KEY, LastName TEXT, BirthDate DATE, HireDate DATE, Photo BLOB,
  Notes TEXT, ReportsTo INTEGER REFERENCES Employees (EmployeeID));
CREATE TABLE EmployeeTerritories (EmployeeID INTEGER NOT NULL, TerritoryID TEXT NOT NULL,
  PRIMARY KEY (EmployeeID, TerritoryID), FOREIGN KEY (EmployeeID) REFERENCES Employees (EmployeeID),
  FOREIGN KEY (TerritoryID) REFERENCES Territories (TerritoryID));
CREATE TABLE "Order Details" (OrderID INTEGER NOT NULL, ProductID INTEGER NOT NULL,
  UnitPrice NUMERIC NOT NULL DEFAULT 0,
  Quantity INTEGER NOT NULL DEFAULT 1, Discount REAL NOT NULL DEFAULT 0, PRIMARY KEY (OrderID, ProductID),
  FOREIGN KEY (OrderID) REFERENCES Orders (OrderID), FOREIGN KEY (ProductID) REFERENCES Products (ProductID));
CREATE TABLE Orders (OrderID INTEGER PRIMARY KEY, CustomerID TEXT, EmployeeID INTEGER, OrderDate DATETIME,
  RequiredDate DATETIME, ShipVia INTEGER, Freight NUMERIC, FOREIGN KEY (EmployeeID) REFERENCES Employees (EmployeeID),
  FOREIGN KEY (CustomerID) REFERENCES Customers (CustomerID), FOREIGN KEY (ShipVia) REFERENCES Shippers (ShipperID));
CREATE TABLE Products (ProductID INTEGER PRIMARY KEY, ProductName TEXT NOT NULL, CategoryID INTEGER,
  Discontinued TEXT NOT NULL DEFAULT '0', FOREIGN KEY (CategoryID) REFERENCES Categories (CategoryID));
CREATE TABLE Regions (RegionID INTEGER NOT NULL PRIMARY KEY, RegionDescription TEXT NOT NULL);
CREATE TABLE Returns (OrderID INTEGER NOT NULL, ProductID INTEGER, Reason TEXT,
  FOREIGN KEY (ProductID, OrderID) REFERENCES "Order Details" (ProductID, OrderID));
CREATE TABLE Shippers (ShipperID INTEGER PRIMARY KEY, CompanyName TEXT NOT NULL, Phone TEXT);
CREATE TABLE Territories (TerritoryID TEXT NOT NULL PRIMARY KEY, TerritoryDescription TEXT NOT NULL,
  RegionID INTEGER NOT NULL REFERENCES Regions (RegionID));
CREATE VIEW "Order Subtotals" AS SELECT OrderID,
  sum(UnitPrice * Quantity) AS Subtotal FROM "Order Details" GROUP BY 1;
CREATE VIEW [Products by Category] AS SELECT CategoryName,
  ProductName FROM Categories JOIN Products USING (CategoryID);
INSERT INTO Categories VALUES (1, 'Beverages', 'Soft drinks and teas', x'FFD8FF'), (2, 'Produce', 'Dried fruit',
  NULL);
INSERT INTO CustomerDemographics VALUES ('new', 'Since this year'), ('old', NULL);
INSERT INTO Customers VALUES ('ALFKI', 'A Futterkiste', 'Owner', 'Berlin', '030-1'), ('ANATR', 'B Helados', 'Owner',
  'Paris', '5'),
  ('VINET', 'C Vins', 'Agent', 'Reims', NULL);
INSERT INTO CustomerCustomerDemo VALUES ('ALFKI', 'old'), ('VINET', 'new');
INSERT INTO Employees VALUES (2, 'Fuller', '1952-02-19', '1992-08-14', x'00', 'Sales since 1974', NULL),
  (1, 'Davolio', '1968-12-08', '1992-05-01', NULL, 'A degree in psychology', 2);
INSERT INTO Regions VALUES (1, 'Eastern'), (2, 'Western');
INSERT INTO Territories VALUES ('01581', 'Westboro', 1), ('98004', 'Bellevue', 2);
INSERT INTO EmployeeTerritories VALUES (1, '01581'), (2, '98004'), (1, '98004');
INSERT INTO Shippers VALUES (1, 'Speedy Express', '(503) 555-9831'), (3, 'Federal Shipping', NULL);
INSERT INTO Products VALUES (1, 'Chai tea', 1, '0'), (2, 'Dried apples', 2, '1'), (3, 'A mystery', NULL, '0');
INSERT INTO Orders VALUES (10248, 'VINET', 1, '1996-07-04', '1996-08-01', 3, 32.38),
  (10249, 'alfki', 2, '1996-07-05', '1996-08-16', 1, 11.61), (10250, 'GONE', 1, '1996-07-08', NULL, 2, 65.83);
INSERT INTO "Order Details" VALUES (10248, 2, 14, 12, 0.0), (10248, 1, 9.8, 10, 0.05), (10249, 3, 18.6, 9, 0.0);
INSERT INTO Returns VALUES (10248, 1, 'too late'), (10249, 1, 'never ordered'), (10249, NULL, 'all of it');
"""

SAKILA = """
CREATE TABLE actor (actor_id NUMERIC NOT NULL PRIMARY KEY, first_name VARCHAR(45) NOT NULL,
  last_update TIMESTAMP NOT NULL);
CREATE TABLE address (address_id INT NOT NULL PRIMARY KEY, address VARCHAR(50) NOT NULL, phone VARCHAR(20),
  last_update TIMESTAMP NOT NULL);
CREATE TABLE customer (customer_id INT NOT NULL PRIMARY KEY, store_id INT NOT NULL,
  active CHAR(1) DEFAULT 'Y' NOT NULL,
  create_date TIMESTAMP NOT NULL, last_update TIMESTAMP NOT NULL, address_id INT NOT NULL,
  CONSTRAINT fk_store FOREIGN KEY (store_id) REFERENCES store (store_id) ON DELETE NO ACTION ON UPDATE CASCADE,
  FOREIGN KEY (address_id) REFERENCES address (address_id));
CREATE TABLE film (film_id INT NOT NULL PRIMARY KEY, title VARCHAR(255) NOT NULL,
  description BLOB SUB_TYPE TEXT DEFAULT NULL,
  release_year VARCHAR(4) DEFAULT NULL, made INTEGER, language_id SMALLINT NOT NULL, original_language_id SMALLINT,
  rental_rate DECIMAL(4,2) DEFAULT 4.99 NOT NULL, rating VARCHAR(10) DEFAULT 'G', special_features VARCHAR(100),
  FOREIGN KEY (language_id) REFERENCES language (language_id),
  FOREIGN KEY (original_language_id) REFERENCES language (language_id));
CREATE TABLE film_actor (actor_id INT NOT NULL, film_id INT NOT NULL, last_update TIMESTAMP NOT NULL,
  PRIMARY KEY (actor_id, film_id), FOREIGN KEY (actor_id) REFERENCES actor (actor_id),
  FOREIGN KEY (film_id) REFERENCES film (film_id));
CREATE TABLE film_text (film_id SMALLINT NOT NULL PRIMARY KEY, title VARCHAR(255) NOT NULL,
  description BLOB SUB_TYPE TEXT);
CREATE TABLE language (language_id SMALLINT NOT NULL PRIMARY KEY, name CHAR(20) NOT NULL,
  last_update TIMESTAMP NOT NULL);
CREATE TABLE payment (payment_id INT NOT NULL PRIMARY KEY, rental_id INT DEFAULT NULL, customer_id INT NOT NULL,
  amount DECIMAL(5,2) NOT NULL, payment_date TIMESTAMP NOT NULL,
  FOREIGN KEY (rental_id) REFERENCES rental (rental_id) ON DELETE SET NULL,
  FOREIGN KEY (customer_id) REFERENCES customer (customer_id));
CREATE TABLE rental (rental_id INT NOT NULL PRIMARY KEY, rental_date TIMESTAMP NOT NULL, customer_id INT NOT NULL,
  return_date TIMESTAMP, staff_id SMALLINT NOT NULL, FOREIGN KEY (staff_id) REFERENCES staff (staff_id),
  FOREIGN KEY (customer_id) REFERENCES customer (customer_id));
CREATE TABLE store (store_id INT NOT NULL PRIMARY KEY, address_id INT NOT NULL REFERENCES address (address_id));
CREATE VIEW customer_list AS SELECT customer_id FROM customer;
CREATE VIEW sales AS SELECT sum(amount) FROM payment;
CREATE VIRTUAL TABLE film_search USING fts4(title);
CREATE TRIGGER actor_update AFTER UPDATE ON actor BEGIN UPDATE actor SET last_update = DATETIME('NOW'); END;
INSERT INTO actor VALUES (1, 'PENELOPE', '2011-09-14 18:05:28'), (2.0, 'NICK', '2011-09-14 18:05:28.25');
INSERT INTO address VALUES (1, '47 Sakila Drive', NULL, '2011-09-14 18:05:33'), (2, '28 Boulevard', '',
  '2011-09-14 18:05:33');
INSERT INTO language VALUES (1, 'English', '2011-09-14 18:05:28'), (2, 'Italian', '2011-09-14 18:05:28');
INSERT INTO store VALUES (1, 1), (2, 2);
INSERT INTO customer VALUES (1, 1, '1', '2006-02-14 22:04:36', '2011-09-14 18:10:28', 1), (2, 2, '0',
  '2006-02-14 22:04:36', '2011-09-14 18:10:28', 2);
INSERT INTO film VALUES (1, 'ACADEMY DINOSAUR', 'A drama of a teacher', '2006', 2006, 1, NULL, 0.99, 'PG',
  'Trailers'),
  (2, 'ACE GOLDFINGER', 'A tale of a car', '2006', 2007, 1, 2, 4.99, 'G', 'Trailers,Deleted Scenes');
INSERT INTO film_actor VALUES (1, 1, '2011-09-14 18:05:30'), (2, 1, '2011-09-14 18:05:30'), (1, 2,
  '2011-09-14 18:05:30');
INSERT INTO film_text VALUES (1, 'ACADEMY DINOSAUR', 'A drama of a teacher');
INSERT INTO rental VALUES (1, '2005-05-24 22:53:30', 1, '2005-05-26 22:04:30', 1), (2, '2005-05-24 22:54:33', 2,
  NULL, 2);
INSERT INTO payment VALUES (1, 1, 1, 2.99, '2005-05-25 11:30:37'), (2, NULL, 2, 0.99, '2005-05-28 10:35:23'),
  (3, 76, 1, 4.99, '2005-06-15 00:54:12');
"""
